/** Layers of resources by name in, one read-only set out. Classes of proxies share layers, so that most of a set exists once. */
import type { Resource } from "./resource.ts";

type Layer = ReadonlyMap<string, Resource>;

/** Never changed once handed out: the same object means that nothing has changed. */
export interface ResourceSet {
  get(name: string): Resource | undefined;
  readonly size: number;
  entries(): IteratorObject<readonly [string, Resource]>;
  names(): IteratorObject<string>;
  /** What the set is made of; a name in a later layer hides the same name in an earlier one. */
  readonly layers: readonly Layer[];
}

export function createResourceSet(layers: readonly Layer[]): ResourceSet {
  let size: number | undefined;
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
      size ??= count(entries(layers));
      return size;
    },
    entries: () => entries(layers),
    names: () => entries(layers).map(([name]) => name),
  };
}

export const emptyResourceSet: ResourceSet = createResourceSet([]);

function* entries(layers: readonly Layer[]): Generator<readonly [string, Resource]> {
  for (const [at, layer] of layers.entries())
    for (const entry of layer) if (!isHidden(layers, at, entry[0])) yield entry;
}

function isHidden(layers: readonly Layer[], at: number, name: string): boolean {
  for (let later = at + 1; later < layers.length; later++) if (layers[later]?.has(name)) return true;
  return false;
}

function count(all: Iterable<unknown>): number {
  let n = 0;
  for (const _ of all) n++;
  return n;
}
