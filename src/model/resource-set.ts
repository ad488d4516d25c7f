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
  return new LayeredSet(layers);
}

/** A class, as each class of proxies has one for every type: objects with getters of their own have each their own shape. */
class LayeredSet implements ResourceSet {
  readonly layers: readonly Layer[];
  #size: number | undefined;
  /** For each layer the later ones that hide some of it, which is rare. */
  #covers: readonly (readonly Layer[])[] | undefined;

  constructor(layers: readonly Layer[]) {
    this.layers = layers;
  }

  get(name: string): Resource | undefined {
    for (let at = this.layers.length - 1; at >= 0; at--) {
      const found = this.layers[at]?.get(name);
      if (found) return found;
    }
    return undefined;
  }

  get size(): number {
    this.#size ??= this.#count();
    return this.#size;
  }

  *entries(): Generator<readonly [string, Resource]> {
    for (const [at, layer] of this.layers.entries()) {
      const later = this.#hiding(at);
      for (const entry of layer) if (!isIn(later, entry[0])) yield entry;
    }
  }

  names(): IteratorObject<string> {
    return this.entries().map(([name]) => name);
  }

  list(): Resource[] {
    const all: Resource[] = [];
    for (const [at, layer] of this.layers.entries()) {
      const later = this.#hiding(at);
      // An entry is an object of its own.
      if (later.length === 0) for (const resource of layer.values()) all.push(resource);
      else for (const [name, resource] of layer) if (!isIn(later, name)) all.push(resource);
    }
    return all;
  }

  #count(): number {
    let count = 0;
    for (const [at, layer] of this.layers.entries()) {
      const later = this.#hiding(at);
      if (later.length === 0) count += layer.size;
      else for (const name of layer.keys()) if (!isIn(later, name)) count++;
    }
    return count;
  }

  #hiding(at: number): readonly Layer[] {
    this.#covers ??= this.layers.map((layer, i) => this.layers.slice(i + 1).filter((later) => overlap(layer, later)));
    return this.#covers[at] ?? [];
  }
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
