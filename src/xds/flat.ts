/** A set of resources in, the same as one map out; made once per set. */
import type { Resource, ResourceSet } from "../model/index.ts";

const flattened = new WeakMap<ResourceSet, ReadonlyMap<string, Resource>>();

export function flat(set: ResourceSet): ReadonlyMap<string, Resource> {
  const [only] = set.layers;
  if (only && set.layers.length === 1) return only;
  const known = flattened.get(set) ?? new Map(set.entries());
  flattened.set(set, known);
  return known;
}
