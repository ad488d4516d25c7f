/** A mesh in; what its proxies are sent out, as it is and again after each change of the objects, class by class. */
import { isDeepStrictEqual } from "node:util";
import { createOffline, type Offline, type OfflineOptions } from "../../control-plane/index.ts";
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
import { nameOf } from "./proposal.ts";

/** How proxies are taken: other than they are, where a change of these is asked for. */
export interface ProxyChoice {
  readonly profile: Profile;
  readonly istioVersion?: string;
}

/** What each proxy is sent, by its name. Proxies of one class have the same object. */
export type State = ReadonlyMap<string, Sent>;

export interface States {
  readonly offline: Offline;
  /** What proxies are sent now: those of Pods, or these. */
  take(choice: ProxyChoice, proxies?: readonly Proxy[]): State;
  /** Who made what proxies are sent, for those who ask where it comes from. */
  rendererOf(sent: Sent): Renderer | undefined;
  /** Goes from the objects that there are to these. */
  moveTo(objects: readonly KubeObject[]): void;
  problems(): readonly string[];
}

export interface StatesOptions {
  readonly objects: readonly KubeObject[];
  readonly meshConfig: Readonly<Record<string, unknown>> | undefined;
  /** How the mesh is seen, where not as usual. */
  readonly settings?: Pick<OfflineOptions, "revision" | "configMap" | "domain" | "cluster">;
  /** Whether Envoy's types are needed for patches. */
  readonly patches: boolean;
  /** Proxies that are looked at. */
  wants(proxy: Proxy): boolean;
}

export const comparedTypes: readonly ResourceType[] = [
  types.cluster,
  types.endpoint,
  types.listener,
  types.route,
  types.extension,
];

export async function createStates(options: StatesOptions): Promise<States> {
  const { objects, meshConfig, patches, wants, settings } = options;
  const offline = createOffline({ objects, ...settings, ...(meshConfig ? { meshConfig } : {}) });
  const envoyTypes = createEnvoyTypes(offline.mesh.graph);
  if (patches) await envoyTypes.load();
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
  let current = new Map(objects.map((object) => [nameOf(object), object]));

  const sentTo = (proxyClass: ProxyClass, key: string): Sent => {
    const known = renderers.get(key);
    const renderer = known ?? rendering.renderer(proxyClass);
    renderers.set(key, renderer);
    if (known) known.refresh();
    const sets = new Map<ResourceType, ResourceSet>(comparedTypes.map((type) => [type, renderer.set(type)]));
    const sent: Sent = { set: (type) => sets.get(type) ?? renderer.set(type) };
    makers.set(sent, renderer);
    return sent;
  };

  return {
    offline,
    problems: () => [...offline.problems(), ...told],
    rendererOf: (sent) => makers.get(sent),
    take(choice, proxies = offline.proxies()) {
      const byClass = new Map<string, Sent>();
      const { istioVersion, profile } = choice;
      return new Map(
        proxies.filter(wants).map((proxy) => {
          const proxyClass = offline.classOf({
            ...proxy,
            profile,
            ...(istioVersion === undefined ? {} : { istioVersion }),
          });
          const key = JSON.stringify(proxyClass);
          const sent = byClass.get(key) ?? sentTo(proxyClass, key);
          byClass.set(key, sent);
          return [`${proxy.name}.${proxy.namespace}`, sent];
        }),
      );
    },
    moveTo(wanted) {
      const next = new Map(wanted.map((object) => [nameOf(object), object]));
      offline.mesh.graph.change(() => {
        for (const [name, object] of current) if (!next.has(name)) offline.source.remove(object);
        offline.source.apply(
          [...next].filter(([name, object]) => isOther(current.get(name), object)).map(([, o]) => o),
        );
      });
      current = next;
    },
  };
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
