/** Lists of layers in; sets of resources, one for each list however many classes have it, and what tells two apart, out. */
import { createResourceSet, emptyResourceSet, type Resource, type ResourceSet } from "../model/index.ts";
import type { Layer } from "./layer.ts";

export interface ResourceSets {
  /** The same set for the same layers. */
  of(layers: readonly Layer[]): ResourceSet;
  /** As one map, made once. */
  flat(set: ResourceSet): ReadonlyMap<string, Resource>;
}

interface Node {
  set: ResourceSet | undefined;
  /** Made where a list goes on: most end here, one for each class. */
  next: WeakMap<Layer, Node> | undefined;
}

export function createSets(): ResourceSets {
  const root: Node = { set: emptyResourceSet, next: undefined };
  const flats = new WeakMap<ResourceSet, ReadonlyMap<string, Resource>>();
  return {
    of(layers) {
      let node = root;
      for (const layer of layers) {
        node.next ??= new WeakMap();
        let next = node.next.get(layer);
        if (!next) {
          next = { set: undefined, next: undefined };
          node.next.set(layer, next);
        }
        node = next;
      }
      node.set ??= createResourceSet(layers);
      return node.set;
    },
    flat(set) {
      const known = flats.get(set) ?? new Map(set.entries());
      flats.set(set, known);
      return known;
    },
  };
}

/** Two sets, or layers, in a row of changes are compared once, for all classes that go from one to the other. */
const comparedSets = new WeakMap<ResourceSet, WeakMap<ResourceSet, ReadonlySet<string>>>();
const comparedLayers = new WeakMap<Layer, WeakMap<Layer, ReadonlySet<string>>>();

function once<K extends object>(
  known: WeakMap<K, WeakMap<K, ReadonlySet<string>>>,
  before: K,
  now: K,
  compare: (before: K, now: K) => ReadonlySet<string>,
): ReadonlySet<string> {
  let byNow = known.get(before);
  if (!byNow) {
    byNow = new WeakMap();
    known.set(before, byNow);
  }
  let found = byNow.get(now);
  if (!found) {
    found = compare(before, now);
    byNow.set(now, found);
  }
  return found;
}

/** Names whose resource may differ. */
export function differences(before: ResourceSet, now: ResourceSet): ReadonlySet<string> {
  return once(comparedSets, before, now, setDifferences);
}

function setDifferences(before: ResourceSet, now: ResourceSet): ReadonlySet<string> {
  if (before.layers.length !== now.layers.length) return allNames(before, now);
  const names = new Set<string>();
  for (const [i, layer] of now.layers.entries()) {
    const last = before.layers[i];
    if (last === layer || !last) continue;
    for (const name of once(comparedLayers, last, layer, layerDifferences)) names.add(name);
  }
  return names;
}

function layerDifferences(before: Layer, now: Layer): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [name, resource] of now) if (before.get(name)?.hash !== resource.hash) names.add(name);
  for (const name of before.keys()) if (!now.has(name)) names.add(name);
  return names;
}

/** A set that got or lost a layer is compared as a whole. */
function allNames(before: ResourceSet, now: ResourceSet): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [name, { hash }] of now.entries()) if (before.get(name)?.hash !== hash) names.add(name);
  for (const [name] of before.entries()) if (!now.get(name)) names.add(name);
  return names;
}
