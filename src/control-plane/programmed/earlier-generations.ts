/**
 * Objects as they change, and what was made from them until then, in; as much of it as some proxy may still have out. Of a
 * resource its hash is remembered, and never itself: streams keep what their proxies have.
 */
import type { Reach } from "./reach.ts";

/** Hashes by the names of resources. */
export type Earlier = ReadonlyMap<string, ReadonlySet<string>>;

/** An object that has changed, and is not known to be everywhere. */
export interface ChangedObject {
  /** The graph's version that has it. */
  readonly version: number;
  /** Whether the object has gone. */
  readonly isGone: boolean;
  /** What its generations before have made. */
  readonly earlier: Earlier;
}

export interface EarlierGenerations {
  get(id: string): ChangedObject | undefined;
  entries(): Iterable<readonly [id: string, change: ChangedObject]>;
  /** `until` was made from the object before this change. */
  add(id: string, change: Omit<ChangedObject, "earlier">, until: Reach): void;
  /** Of what the object's generations before have made the rest is forgotten. */
  keep(id: string, isNeeded: (hash: string) => boolean): void;
  delete(id: string): void;
  /** Objects, and hashes. */
  readonly size: number;
}

interface Known extends ChangedObject {
  readonly earlier: Map<string, Set<string>>;
}

export function createEarlierGenerations(): EarlierGenerations {
  const objects = new Map<string, Known>();
  let hashes = 0;

  function remember(earlier: Known["earlier"], name: string, hash: string): void {
    const known = earlier.get(name) ?? new Set();
    earlier.set(name, known);
    if (known.has(hash)) return;
    known.add(hash);
    hashes++;
  }

  function forget(id: string): void {
    for (const known of objects.get(id)?.earlier.values() ?? []) hashes -= known.size;
    objects.delete(id);
  }

  return {
    get: (id) => objects.get(id),
    entries: () => objects.entries(),
    add(id, change, until) {
      // Another object that has its name.
      if (objects.get(id)?.isGone) forget(id);
      // Not copied: one that changes all the time must not cost more each time.
      const earlier = objects.get(id)?.earlier ?? new Map<string, Set<string>>();
      objects.set(id, { ...change, earlier });
      for (const [name, made] of until) for (const { hash } of made) remember(earlier, name, hash);
    },
    keep(id, isNeeded) {
      const earlier = objects.get(id)?.earlier ?? new Map<string, Set<string>>();
      for (const [name, known] of earlier) {
        for (const hash of known) if (!isNeeded(hash) && known.delete(hash)) hashes--;
        if (known.size === 0) earlier.delete(name);
      }
    },
    delete: forget,
    get size() {
      return objects.size + hashes;
    },
  };
}
