/** Layers of resources by name in, one read-only set out. Classes of proxies share layers, so that most of a set exists once. */
import type { Resource } from "./resource.ts";

type Layer = ReadonlyMap<string, Resource>;

/** Never changed once handed out: the same object means that nothing has changed. */
export interface ResourceSet {
  get(name: string): Resource | undefined;
  readonly size: number;
  entries(): IteratorObject<readonly [string, Resource]>;
  names(): IteratorObject<string>;
  /** All resources, as a list of the caller's own. */
  list(): Resource[];
  /** What the set is made of; a name in a later layer hides the same name in an earlier one. */
  readonly layers: readonly Layer[];
}

export function createResourceSet(layers: readonly Layer[]): ResourceSet {
  let size: number | undefined;
  /** For each layer the later ones that hide some of it, which is rare. */
  let covers: readonly (readonly Layer[])[] | undefined;
  const hiding = (at: number): readonly Layer[] => {
    covers ??= layers.map((layer, i) => layers.slice(i + 1).filter((later) => overlap(layer, later)));
    return covers[at] ?? [];
  };

  function* entries(): Generator<readonly [string, Resource]> {
    for (const [at, layer] of layers.entries()) {
      const later = hiding(at);
      for (const entry of layer) if (!isIn(later, entry[0])) yield entry;
    }
  }

  function list(): Resource[] {
    const all: Resource[] = [];
    for (const [at, layer] of layers.entries()) {
      const later = hiding(at);
      for (const [name, resource] of layer) if (!isIn(later, name)) all.push(resource);
    }
    return all;
  }

  return {
    layers,
    get(name) {
      for (let at = layers.length - 1; at >= 0; at--) {
        const found = layers[at]?.get(name);
        if (found) return found;
      }
      return undefined;
    },
    get size() {
      size ??= list().length;
      return size;
    },
    entries,
    names: () => entries().map(([name]) => name),
    list,
  };
}

export const emptyResourceSet: ResourceSet = createResourceSet([]);

function isIn(layers: readonly Layer[], name: string): boolean {
  for (const layer of layers) if (layer.has(name)) return true;
  return false;
}

function overlap(a: Layer, b: Layer): boolean {
  const [small, large] = a.size < b.size ? [a, b] : [b, a];
  for (const name of small.keys()) if (large.has(name)) return true;
  return false;
}
