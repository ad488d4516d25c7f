/**
 * (mesh, class of proxy) in, encoded Envoy resources with their provenance out. What a class has is a few layers, most of
 * them shared with other classes; when the mesh changes, only what read something that changed is made again.
 */
import type { Cause, Provenance } from "../collections/index.ts";
import type { Mesh } from "../mesh/index.ts";
import {
  emptyResourceSet,
  type ProxyClass,
  type Resource,
  type ResourceSet,
  type ResourceType,
} from "../model/index.ts";
import { createClassSets } from "./class-sets.ts";
import { createEnvoyTypes, type EnvoyTypes, type PatchReport, patchedKinds } from "./envoy-filter/index.ts";
import { withGrpc } from "./grpc/kinds.ts";
import type { ResourceKind } from "./kind.ts";
import { resourceKinds } from "./kinds.ts";
import type { Steps } from "./layer.ts";
import { createPartStore, type PartStoreOptions } from "./part-store.ts";
import { isProxyless } from "./proxy/profile.ts";
import { differences } from "./resource-sets.ts";
import { isHost } from "./route.ts";
import type { AppliedPatch, RecipeCount } from "./view.ts";

export interface RenderingOptions extends PartStoreOptions {
  /** Types that patches may name. Whoever has loaded them gets patches at once. */
  readonly envoyTypes?: EnvoyTypes;
  /** Told once for each patch of an EnvoyFilter that was applied, and for each that could not be. */
  readonly onPatch?: (report: PatchReport) => void;
}

export interface RendererOptions extends RenderingOptions {
  /** Told when resources may have changed; call `refresh` to find out. */
  readonly onInvalidate?: () => void;
}

/** By type, the names whose resource differs. */
export type Differences = ReadonlyMap<ResourceType, ReadonlySet<string>>;

export interface Renderer {
  readonly proxy: ProxyClass;
  /** What was last committed; the same object as long as nothing has changed, and for all classes that have the same. */
  set(type: ResourceType): ResourceSet;
  /** The same as one map. */
  all(type: ResourceType): ReadonlyMap<string, Resource>;
  /** What is in no set is made where it is asked for, and `refresh` tells of it only while somebody follows it. */
  get(type: ResourceType, name: string): Resource | undefined;
  /** One more follows a name that is in no set; false where there is never anything for it, or too many are followed. */
  follow(type: ResourceType, name: string): boolean;
  /** One of those who follow it has given it up. */
  giveUp(type: ResourceType, name: string): void;
  /** Brings all types up to date at once, so that no route is newer than its clusters, and says which names came out different. */
  refresh(): Differences;
  /** The work that `refresh` and the first `set` would do, in small pieces that may be spread over time. */
  steps(): Steps;
  /** Whether `steps` would make nothing, as others have made all that has changed. */
  isMade(): boolean;
  /** Which objects and fields made this resource. */
  causes(type: ResourceType, name: string): readonly Cause[];
  /** The same, ranked, with what was looked for in vain; of a route configuration also of one of its virtual hosts. */
  provenance(type: ResourceType, name: string, host?: string): Provenance;
  /** The patches that made or changed a resource, be it of a moment ago. */
  patchesOf(resource: Resource): readonly AppliedPatch[];
  /** How many resources were rendered in total, by all who share. */
  readonly rendered: number;
  dispose(): void;
}

/** What renderers of one mesh share. */
export interface Rendering {
  renderer(proxy: ProxyClass, onInvalidate?: () => void): Renderer;
  /** Whether it stays because it could not be made again, by a fault of ours: it does not say what is wanted now. */
  isStale(resource: Resource): boolean;
  readonly rendered: number;
  /** Classes and facets that are kept; what comes and goes leaves none. */
  readonly facets: number;
  /** By recipe: what is kept, and how often something was made. */
  readonly counts: ReadonlyMap<string, RecipeCount>;
}

export function createRenderer(mesh: Mesh, proxy: ProxyClass, options: RendererOptions = {}): Renderer {
  return createRendering(mesh, options).renderer(proxy, options.onInvalidate);
}

/** Names that a class's proxies may ask for beyond what is listed for them and still be told of changes; gRPC asks for all by name. */
const maxAsked = (proxy: ProxyClass): number => (isProxyless(proxy) ? 20_000 : 1000);

/** Longer than a host with all that stands around it. */
const maxNameLength = 1024;

/** A name that is in no layer, and what was last told of it. */
interface Asked {
  resource: Resource | undefined;
  followers: number;
}

/** After so many that are not followed, what was made for them goes. */
const sweepEvery = 5000;

export function createRendering(mesh: Mesh, options: RenderingOptions = {}): Rendering {
  const store = createPartStore(mesh, options);
  const kinds = withGrpc(
    patchedKinds(resourceKinds, {
      types: options.envoyTypes ?? createEnvoyTypes(mesh.graph),
      report: (report) => options.onPatch?.(report),
    }),
  );
  const kindOf = (type: string): ResourceKind | undefined => kinds.find((kind) => kind.type === type);
  /** Types that are made in steps. */
  const stepped: readonly ResourceType[] = kinds.filter(({ steps }) => steps).map(({ type }) => type);
  const classSets = createClassSets(mesh.graph, { kindOf, fault: store.fault });
  const { sets } = classSets;
  const states = new Map<string, State>();
  let lastId = 0;
  let unfollowed = 0;

  interface State {
    readonly view: ReturnType<typeof store.classView>;
    askedInvalidated(key: string): void;
  }
  const stateOf = (id: string): State => {
    const state = states.get(id);
    if (!state) throw new Error("the renderer was disposed of");
    return state;
  };

  const render = (id: string, type: ResourceType, name: string, last?: Resource): Resource | undefined => {
    try {
      return kindOf(type)?.render?.(stateOf(id).view, name);
    } catch (error) {
      store.fault({ type, name, error });
      return last;
    }
  };

  /** Names that are followed and are in no layer. */
  const asked = mesh.graph.memo<Resource | undefined>(
    "asked for",
    (key, last) => {
      const [id, type, name] = split(key);
      return render(id, type, name, last);
    },
    {
      equals: (a, b) => a?.hash === b?.hash,
      onInvalidate: (key) => states.get(split(key)[0])?.askedInvalidated(key),
    },
  );

  const renderer = (proxy: ProxyClass, onInvalidate?: () => void): Renderer => {
    const id = String(++lastId);
    const view = store.classView(proxy);
    const committed = new Map<ResourceType, ResourceSet>();
    const given = new Map<string, Asked>();
    /** Few at a time, and told to hundreds of classes with each change: made when there is something to put into them. */
    let staleTypes: readonly ResourceType[] = noTypes;
    let staleAsked: Set<string> | undefined;
    /** Since the last refresh; that one may have failed and left something stale. */
    let isTold = false;
    const tell = (): void => {
      if (isTold) return;
      isTold = true;
      onInvalidate?.();
    };
    const noteAsked = (key: string): void => {
      staleAsked ??= new Set();
      staleAsked.add(key);
    };
    states.set(id, {
      view,
      askedInvalidated(key) {
        noteAsked(key);
        tell();
      },
    });
    classSets.join(id, {
      view,
      invalidated(type) {
        if (!staleTypes.includes(type)) staleTypes = [...staleTypes, type];
        tell();
      },
    });

    const set = (type: ResourceType): ResourceSet => {
      const known = committed.get(type);
      if (known) return known;
      if (!kindOf(type)) return emptyResourceSet;
      const made = classSets.get(id, type);
      committed.set(type, made);
      return made;
    };

    const answers = (type: ResourceType, name: string): boolean => {
      const kind = kindOf(type);
      return kind?.render !== undefined && kind.answers?.(view) !== false && name.length <= maxNameLength;
    };

    const ask = (type: ResourceType, name: string): Resource | undefined => {
      if (!answers(type, name)) return undefined;
      const known = given.get(join(id, type, name));
      if (known) return known.resource;
      // In a mesh where nothing changes, nothing else would.
      if (++unfollowed % sweepEvery === 0) mesh.graph.sweep();
      return render(id, type, name);
    };

    const follow = (type: ResourceType, name: string): boolean => {
      if (!answers(type, name)) return false;
      const key = join(id, type, name);
      const known = given.get(key);
      if (known) known.followers++;
      else if (given.size >= maxAsked(proxy)) return false;
      else given.set(key, { resource: asked.get(key), followers: 1 });
      return true;
    };

    const giveUp = (type: ResourceType, name: string): void => {
      const key = join(id, type, name);
      const known = given.get(key);
      if (!known || --known.followers > 0) return;
      given.delete(key);
      staleAsked?.delete(key);
      asked.drop(key);
    };

    const refresh = (): Differences => {
      const [types, keys] = [staleTypes, staleAsked];
      // Before the making, so that what becomes stale meanwhile is told; a fault leaves all of it to the next refresh.
      isTold = false;
      [staleTypes, staleAsked] = [noTypes, undefined];
      try {
        // Everything is made before anything is committed.
        const made = types.map((type) => classSets.get(id, type));
        const found = keys ? [...keys].map((key) => [key, asked.get(key)] as const) : noAnswers;
        return commit(types, made, found);
      } catch (error) {
        staleTypes = [...new Set([...types, ...staleTypes])];
        for (const key of keys ?? none) noteAsked(key);
        throw error;
      }
    };

    const commit = (
      types: readonly ResourceType[],
      made: readonly ResourceSet[],
      found: readonly (readonly [string, Resource | undefined])[],
    ): Differences => {
      let changed: Differences = noDifferences;
      for (const [i, type] of types.entries()) {
        const [before, now] = [committed.get(type), made[i]];
        if (!now || before === now) continue;
        committed.set(type, now);
        const names = before ? differences(before, now) : none;
        if (names.size > 0) changed = changed.size === 0 ? alone(type, names) : new Map([...changed, [type, names]]);
      }
      for (const [key, now] of found) {
        const [, type, name] = split(key);
        const known = given.get(key);
        if (!known) continue;
        const before = known.resource;
        known.resource = now;
        if (before?.hash !== now?.hash)
          changed = new Map([...changed, [type, new Set([...(changed.get(type) ?? none), name])]]);
      }
      return changed;
    };

    const provenance: Renderer["provenance"] = (type, name, host) => {
      const resource = set(type).get(name) ?? ask(type, name);
      const own = resource && store.provenance(resource, host === undefined ? undefined : isHost(host));
      const causes = own?.causes ?? [];
      const sidecar = proxy.sidecar === "" ? [] : [{ object: `Sidecar/${proxy.sidecar}` }];
      const more = sidecar.filter(({ object }) => !causes.some((cause) => cause.object === object));
      return { causes: [...causes, ...more], missing: own?.missing ?? [] };
    };

    const isUpToDate = (type: ResourceType): boolean =>
      (committed.has(type) && !staleTypes.includes(type)) || classSets.isFresh(id, type);

    return {
      proxy,
      set,
      all: (type) => sets.flat(set(type)),
      get: (type, name) => set(type).get(name) ?? ask(type, name),
      follow,
      giveUp,
      refresh,
      *steps() {
        const hold = mesh.graph.hold();
        try {
          for (const { type, steps } of kinds) {
            if (!steps || isUpToDate(type)) continue;
            const work = steps(view);
            // Whoever wanted it may have gone in between.
            while (states.has(id) && !hold.run(() => work.next()).done) yield;
          }
          // Nobody else may have it: it is taken before it is let go of, and of all types at once.
          if (states.has(id)) for (const type of stepped) set(type);
        } finally {
          hold.release();
        }
      },
      isMade: () => stepped.every((type) => committed.has(type) && isUpToDate(type)),
      causes: (type, name) => provenance(type, name).causes,
      provenance,
      patchesOf: store.patchesOf,
      get rendered() {
        return store.rendered;
      },
      dispose() {
        classSets.leave(id);
        for (const key of given.keys()) asked.drop(key);
        given.clear();
        states.delete(id);
        store.release(view);
        mesh.graph.sweep();
      },
    };
  };
  return {
    renderer,
    isStale: store.isStale,
    get rendered() {
      return store.rendered;
    },
    get facets() {
      return store.facets;
    },
    get counts() {
      return store.counts;
    },
  };
}

const none: ReadonlySet<string> = new Set();
const noTypes: readonly ResourceType[] = [];
const noAnswers: readonly (readonly [string, Resource | undefined])[] = [];
const noDifferences: Differences = new Map();

/** Classes that share a set go from the same one to the same one: what that changes is one object for all of them. */
const lone = new WeakMap<ReadonlySet<string>, Differences>();

/** The names are of one pair of sets, and so of one type. */
function alone(type: ResourceType, names: ReadonlySet<string>): Differences {
  const found = lone.get(names) ?? new Map([[type, names]]);
  lone.set(names, found);
  return found;
}

const join = (id: string, type: ResourceType, name: string): string => `${id}|${type}|${name}`;

function split(key: string): readonly [id: string, type: ResourceType, name: string] {
  const first = key.indexOf("|");
  const second = key.indexOf("|", first + 1);
  const end = second < 0 ? key.length : second;
  return [key.slice(0, first), key.slice(first + 1, end) as ResourceType, key.slice(end + 1)];
}
