/**
 * (mesh, class of proxy) in, encoded Envoy resources with their provenance out. A renderer keeps what it made and, when
 * the mesh changes, makes again only the resources that read something that changed.
 */
import type { Cause } from "../collections/index.ts";
import type { Mesh } from "../mesh/index.ts";
import { encodedResource, type ProxyClass, type Resource, type ResourceType } from "../model/index.ts";
import { createEnvoyTypes, type EnvoyTypes, type PatchReport, patchedKinds } from "./envoy-filter/index.ts";
import { resourceKinds } from "./kinds.ts";
import { createView, type RenderProblem } from "./view.ts";

/** Something that kept one resource from being made: a fault of ours, contained to that resource. */
export interface RenderFault {
  readonly type: ResourceType;
  readonly name: string;
  readonly error: unknown;
}

export interface RendererOptions {
  /** Told once per resource that could not be made; the last good one stays. */
  readonly onFault?: (fault: RenderFault) => void;
  /** Told when resources of these types may have changed; call `refresh` to find out. */
  readonly onInvalidate?: () => void;
  /** Types that patches may name, shared among renderers of one graph. Whoever has loaded them gets patches at once. */
  readonly envoyTypes?: EnvoyTypes;
  /** Told once for each patch of an EnvoyFilter that was applied, and for each that could not be. */
  readonly onPatch?: (report: PatchReport) => void;
  /** Told of what users wrote and could not be used, each time that it is met. */
  readonly onProblem?: (problem: RenderProblem) => void;
}

export interface Renderer {
  readonly proxy: ProxyClass;
  all(type: ResourceType): ReadonlyMap<string, Resource>;
  get(type: ResourceType, name: string): Resource | undefined;
  /** Brings everything up to date and says, by type, which names came out different since the last call. */
  refresh(): ReadonlyMap<ResourceType, ReadonlySet<string>>;
  /** Which objects and fields made this resource. */
  causes(type: ResourceType, name: string): readonly Cause[];
  /** How many resources were rendered in total. */
  readonly rendered: number;
  dispose(): void;
}

interface Shelf {
  /** What was last handed out, by name; undefined where there is no such resource. */
  readonly made: Map<string, Resource | undefined>;
  names: ReadonlyMap<string, Resource> | undefined;
}

export function createRenderer(mesh: Mesh, proxy: ProxyClass, options: RendererOptions = {}): Renderer {
  const graph = mesh.graph;
  const view = createView(graph, mesh, proxy, (problem) => options.onProblem?.(problem));
  const kinds = patchedKinds(resourceKinds, {
    types: options.envoyTypes ?? createEnvoyTypes(graph),
    report: (report) => options.onPatch?.(report),
  });
  const shelves = new Map<ResourceType, Shelf>(kinds.map((kind) => [kind.type, { made: new Map(), names: undefined }]));
  const stale = new Set<string>();
  const lastNames = new Map<ResourceType, readonly string[]>();
  let rendered = 0;

  const invalidated = (id: string): void => {
    const first = stale.size === 0;
    stale.add(id);
    if (first) options.onInvalidate?.();
  };

  const names = graph.memo<readonly string[]>(
    "names",
    (type) => {
      const kind = kinds.find((candidate) => candidate.type === type);
      if (!kind) return [];
      try {
        return kind.names(view);
      } catch (error) {
        // No names would tell the proxy to drop everything, so a first fault is the caller's.
        const last = lastNames.get(kind.type);
        if (!last) throw error;
        options.onFault?.({ type: kind.type, name: "", error });
        return last;
      }
    },
    { onInvalidate: (type) => invalidated(`${type}|`) },
  );

  const resources = graph.memo<Resource | undefined>(
    "resource",
    (id) => {
      const { type, name } = splitId(id);
      const kind = kinds.find((candidate) => candidate.type === type);
      if (!kind) return undefined;
      rendered++;
      try {
        const part = kind.render(view, name);
        return part && encodedResource(name, part.bytes, part.needs);
      } catch (error) {
        options.onFault?.({ type: kind.type, name, error });
        return shelves.get(kind.type)?.made.get(name);
      }
    },
    {
      equals: (a, b) => a === b || (a !== undefined && b !== undefined && a.hash === b.hash),
      onInvalidate: invalidated,
    },
  );

  /**
   * What was last handed out stays so until `refresh`: a route must not be newer than the clusters that the same proxy
   * has been told of.
   */
  const get = (type: ResourceType, name: string): Resource | undefined => {
    const made = shelves.get(type)?.made;
    if (made?.has(name) && stale.has(`${type}|${name}`)) return made.get(name);
    return make(type, name);
  };

  const make = (type: ResourceType, name: string): Resource | undefined => {
    const resource = resources.get(`${type}|${name}`);
    shelves.get(type)?.made.set(name, resource);
    return resource;
  };

  const all = (type: ResourceType): ReadonlyMap<string, Resource> => {
    const shelf = shelves.get(type);
    if (!shelf) return new Map();
    if (shelf.names) return shelf.names;
    const out = new Map<string, Resource>();
    const wanted = names.get(type);
    lastNames.set(type, wanted);
    for (const name of wanted) {
      const resource = get(type, name);
      if (resource) out.set(name, resource);
    }
    shelf.names = out;
    return out;
  };

  return {
    proxy,
    all,
    get,
    refresh() {
      const changed = new Map<ResourceType, Set<string>>();
      const note = (type: ResourceType, name: string): void =>
        void changed.set(type, (changed.get(type) ?? new Set()).add(name));
      const pending = [...stale];
      stale.clear();
      // As they were before: the first member that changed forgets the set, and names that came with it would go untold.
      const handedOut = new Map([...shelves].map(([type, { names: set }]) => [type, set]));
      for (const id of pending) {
        const { type, name } = splitId(id);
        const shelf = shelves.get(type);
        if (!shelf) continue;
        if (name === "") {
          const before = handedOut.get(type);
          shelf.names = undefined;
          if (before) for (const different of differing(before, all(type))) note(type, different);
          continue;
        }
        const before = shelf.made.get(name);
        const now = make(type, name);
        if (before?.hash === now?.hash) continue;
        shelf.names = undefined;
        note(type, name);
      }
      return changed;
    },
    causes: (type, name) => resources.causes(`${type}|${name}`),
    get rendered() {
      return rendered;
    },
    dispose() {
      names.dispose();
      resources.dispose();
      view.dispose();
    },
  };
}

function splitId(id: string): { type: ResourceType; name: string } {
  const at = id.indexOf("|");
  return { type: id.slice(0, at) as ResourceType, name: id.slice(at + 1) };
}

function* differing(a: ReadonlyMap<string, Resource>, b: ReadonlyMap<string, Resource>): Generator<string> {
  for (const [name, resource] of a) if (b.get(name)?.hash !== resource.hash) yield name;
  for (const name of b.keys()) if (!a.has(name)) yield name;
}
