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
  /** Names of the layer at this place that a later one hides. */
  hiddenIn(at: number): ReadonlySet<string>;
}

export function createResourceSet(layers: readonly Layer[]): ResourceSet {
  return new LayeredSet(layers);
}

/** A class, as each class of proxies has one for every type: objects with getters of their own have each their own shape. */
class LayeredSet implements ResourceSet {
  readonly layers: readonly Layer[];
  #size: number | undefined;
  /** For each layer what later ones hide of it, which is rare. */
  #hidden: readonly ReadonlySet<string>[] | undefined;

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
      const hidden = this.hiddenIn(at);
      for (const entry of layer) if (!hidden.has(entry[0])) yield entry;
    }
  }

  names(): IteratorObject<string> {
    return this.entries().map(([name]) => name);
  }

  list(): Resource[] {
    const all: Resource[] = [];
    for (const [at, layer] of this.layers.entries()) {
      const hidden = this.hiddenIn(at);
      // An entry is an object of its own.
      if (hidden.size === 0) for (const resource of layer.values()) all.push(resource);
      else for (const [name, resource] of layer) if (!hidden.has(name)) all.push(resource);
    }
    return all;
  }

  hiddenIn(at: number): ReadonlySet<string> {
    this.#hidden ??= this.layers.map((layer, i) => hiddenBy(layer, this.layers.slice(i + 1)));
    return this.#hidden[at] ?? none;
  }

  #count(): number {
    let count = 0;
    for (const [at, layer] of this.layers.entries()) count += layer.size - this.hiddenIn(at).size;
    return count;
  }
}

const none: ReadonlySet<string> = new Set();

export const emptyResourceSet: ResourceSet = createResourceSet([]);

function hiddenBy(layer: Layer, later: readonly Layer[]): ReadonlySet<string> {
  let found: Set<string> | undefined;
  for (const other of later) {
    const [small, large] = layer.size < other.size ? [layer, other] : [other, layer];
    for (const name of small.keys()) {
      if (!large.has(name)) continue;
      found ??= new Set();
      found.add(name);
    }
  }
  return found ?? none;
}
