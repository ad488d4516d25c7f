/** Two sets of resources in, what differs out. Remembered per pair, as many streams go from the same set to the same set. */
import type { Resource } from "../model/index.ts";
import type { Changes } from "./type-state.ts";

type Resources = ReadonlyMap<string, Resource>;

const none: Changes = new Map();

export function createDiff(): (from: Resources, to: Resources) => Changes {
  const known = new WeakMap<Resources, WeakMap<Resources, Changes>>();
  return (from, to) => {
    if (from === to) return none;
    const byTarget = known.get(from) ?? new WeakMap<Resources, Changes>();
    known.set(from, byTarget);
    const changes = byTarget.get(to) ?? diff(from, to);
    byTarget.set(to, changes);
    return changes;
  };
}

function diff(from: Resources, to: Resources): Changes {
  const changes = new Map<string, Resource | undefined>();
  for (const [name, resource] of to) if (from.get(name)?.hash !== resource.hash) changes.set(name, resource);
  for (const name of from.keys()) if (!to.has(name)) changes.set(name, undefined);
  return changes;
}
