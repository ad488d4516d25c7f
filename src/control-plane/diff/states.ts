/** A mesh in; what its proxies are sent out, as it is and again after each change of the objects, class by class. */
import { isDeepStrictEqual } from "node:util";
import type { Difference, Sent } from "../../explain/index.ts";
import {
  type KubeObject,
  type Profile,
  type Proxy,
  type ProxyClass,
  type ResourceSet,
  type ResourceType,
  types,
} from "../../model/index.ts";
import { createEnvoyTypes, createRendering, differences, type Renderer, sayReport } from "../../render/index.ts";
import { createOffline, type Offline, type OfflineOptions } from "../offline.ts";
import { keyOf, nameOf } from "./proposal.ts";

/** How proxies are taken: other than they are, where a change of these is asked for. */
export interface ProxyChoice {
  /** Absent: as each of them is. */
  readonly profile?: Profile;
  readonly istioVersion?: string;
}

/** A proxy, as the objects of the moment make it; none where it is gone. */
export interface Subject {
  /** The same for the same one at any time. */
  readonly key: string;
  proxy(): Proxy | undefined;
}

/** What each proxy is sent, by its name. Proxies of one class have the same object. */
export type State = ReadonlyMap<string, Sent>;

export interface States {
  readonly offline: Offline;
  /** Of each Pod, for those who look at all. */
  pods(): readonly Subject[];
  /** What proxies are sent now. */
  take(choice: ProxyChoice, subjects: readonly Subject[]): State;
  /** Who made what proxies are sent, for those who ask where it comes from. */
  rendererOf(sent: Sent): Renderer | undefined;
  /** Goes from the objects that there are to these. */
  moveTo(objects: readonly KubeObject[]): void;
  /** Lets go of what was made for others than these. */
  keepOnly(states: readonly State[]): void;
  /** How many subjects are remembered. */
  readonly kept: number;
  /** Envoy's types, which patches name, take their time. */
  loadPatches(): Promise<void>;
  problems(): readonly string[];
  /** To be called when what is tried now is over: what was said of it alone is forgotten, and said again the next time. */
  tryOut(): () => void;
}

export interface StatesOptions {
  readonly objects: readonly KubeObject[];
  readonly meshConfig: Readonly<Record<string, unknown>> | undefined;
  /** How the mesh is seen, where not as usual. */
  readonly settings?: Omit<OfflineOptions, "objects" | "meshConfig">;
}

export const comparedTypes: readonly ResourceType[] = [
  types.cluster,
  types.endpoint,
  types.listener,
  types.route,
  types.extension,
];

export function createStates({ objects, meshConfig, settings }: StatesOptions): States {
  const offline = createOffline({ objects, ...settings, ...(meshConfig ? { meshConfig } : {}) });
  const { graph } = offline.mesh;
  const envoyTypes = createEnvoyTypes(graph);
  const told = new Set<string>();
  const rendering = createRendering(offline.mesh, {
    envoyTypes,
    onProblem: ({ object, field, problem }) => void told.add(`${object} ${field}: ${problem}`),
    onPatch(report) {
      const said = sayReport(report);
      if (said !== undefined) told.add(said);
    },
  });
  const renderers = new Map<string, Renderer>();
  const makers = new WeakMap<Sent, Renderer>();
  /** Of whom a state tells. */
  const lookedAt = new WeakMap<State, ReadonlySet<string>>();
  const known = new Map<string, { readonly subject: Subject; readonly choice: ProxyChoice }>();
  let current = new Map(objects.map((object) => [keyOf(object), object]));

  // Of those that a change does not touch, neither the proxy nor its class is worked out again.
  const taken = graph.memo<Taken | undefined>(
    "class of a subject",
    (id) => {
      const { subject, choice } = known.get(id) ?? {};
      const proxy = subject?.proxy();
      if (!proxy) return undefined;
      const proxyClass = offline.classOf({ ...proxy, ...choice });
      return { name: `${proxy.name}.${proxy.namespace}`, proxyClass, key: JSON.stringify(proxyClass) };
    },
    { equals: (a, b) => a?.name === b?.name && a?.key === b?.key, onInvalidate: () => {} },
  );

  const sentTo = ({ proxyClass, key }: Taken): Sent => {
    const before = renderers.get(key);
    const renderer = before ?? rendering.renderer(proxyClass);
    renderers.set(key, renderer);
    if (before) before.refresh();
    const sets = new Map<ResourceType, ResourceSet>(comparedTypes.map((type) => [type, renderer.set(type)]));
    const sent: Sent = { set: (type) => sets.get(type) ?? renderer.set(type) };
    makers.set(sent, renderer);
    return sent;
  };

  return {
    offline,
    problems: () => [...offline.problems(), ...told],
    tryOut() {
      const before = [...told];
      return () => {
        told.clear();
        for (const text of before) told.add(text);
      };
    },
    get kept() {
      return known.size;
    },
    rendererOf: (sent) => makers.get(sent),
    loadPatches: () => envoyTypes.load(),
    pods: () => offline.podKeys().map((key) => ({ key: `Pod/${key}`, proxy: () => offline.podProxy(key) })),
    take(choice, subjects) {
      const byClass = new Map<string, Sent>();
      const state = new Map<string, Sent>();
      const ids = new Set<string>();
      lookedAt.set(state, ids);
      for (const subject of subjects) {
        const id = `${choice.profile} ${choice.istioVersion} ${subject.key}`;
        known.set(id, { subject, choice });
        ids.add(id);
        const found = taken.get(id);
        if (!found) continue;
        const sent = byClass.get(found.key) ?? sentTo(found);
        byClass.set(found.key, sent);
        state.set(found.name, sent);
      }
      return state;
    },
    moveTo(wanted) {
      const next = new Map(wanted.map((object) => [keyOf(object), object]));
      const gone = [...current].filter(([key]) => !next.has(key)).map(([, object]) => object);
      const changed = [...next]
        .filter(([key, object]) => isOther(current.get(key), object))
        .map(([, object]) => object);
      const names = new Set([...gone, ...changed].map(nameOf));
      for (const text of told) if (names.has(text.slice(0, text.indexOf(" ")))) told.delete(text);
      graph.change(() => {
        for (const object of gone) offline.source.remove(object);
        offline.source.apply(changed);
      });
      current = next;
    },
    keepOnly(states) {
      const ids = new Set(states.flatMap((state) => [...(lookedAt.get(state) ?? [])]));
      for (const id of known.keys())
        if (!ids.has(id)) {
          known.delete(id);
          taken.drop(id);
        }
      const used = new Set(states.flatMap((state) => [...state.values()]).map((sent) => makers.get(sent)));
      for (const [key, renderer] of renderers)
        if (!used.has(renderer)) {
          renderer.dispose();
          renderers.delete(key);
        }
    },
  };
}

interface Taken {
  readonly name: string;
  readonly proxyClass: ProxyClass;
  /** The class in words. */
  readonly key: string;
}

const isOther = (before: KubeObject | undefined, after: KubeObject): boolean =>
  before !== after && !isDeepStrictEqual(before, after);

/** Proxies that were sent the same, and are sent the same. */
export interface Group {
  readonly proxies: readonly string[];
  readonly after: Sent;
  readonly differences: readonly Difference[];
}

export interface StateChange {
  /** Only those with a difference. */
  readonly groups: readonly Group[];
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

export function compareStates(before: State, after: State): StateChange {
  const groups = new Map<Sent, Map<Sent, string[]>>();
  for (const [proxy, now] of after) {
    const was = before.get(proxy);
    if (!was) continue;
    const byNow = groups.get(was) ?? new Map<Sent, string[]>();
    groups.set(was, byNow);
    byNow.set(now, [...(byNow.get(now) ?? []), proxy]);
  }
  const pairs = [...groups].flatMap(([was, byNow]) => [...byNow].map(([now, proxies]) => ({ was, now, proxies })));
  return {
    groups: pairs
      .map(({ was, now, proxies }) => ({ proxies, after: now, differences: differencesOf(was, now) }))
      .filter((group) => group.differences.length > 0),
    added: [...after.keys()].filter((proxy) => !before.has(proxy)),
    removed: [...before.keys()].filter((proxy) => !after.has(proxy)),
  };
}

function differencesOf(was: Sent, now: Sent): readonly Difference[] {
  return comparedTypes.flatMap((type) => {
    const [before, after] = [was.set(type), now.set(type)];
    if (before === after) return [];
    return [...differences(before, after)]
      .map((name) => ({ type, name, before: before.get(name), after: after.get(name) }))
      .filter((one) => one.before?.hash !== one.after?.hash);
  });
}
