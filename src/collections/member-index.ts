/** A collection in; its members' keys by words derived from each member out. */
import type { Collection, Index } from "./collection.ts";
import { createKeyed } from "./keyed.ts";
import type { Recorder } from "./recorder.ts";

export function createIndex<T>(
  recorder: Recorder,
  of: Collection<T>,
  name: string,
  words: (value: T, key: string) => Iterable<string>,
): { readonly index: Index; entries(): number } {
  const keyed = createKeyed<ReadonlySet<string>>(recorder, `${of.name}.${name}`, undefined, { rank: of.rank });
  const sortedCache = new Map<string, readonly string[]>();
  const update = (word: string, edit: (keys: Set<string>) => void): void => {
    // Changed in place: copying would make the first fill of a large word quadratic, and nobody keeps the set.
    const keys = (keyed.members.get(word) as Set<string> | undefined) ?? new Set<string>();
    edit(keys);
    sortedCache.delete(word);
    keyed.put(word, keys.size > 0 ? keys : undefined);
  };
  const apply = (key: string, now: T | undefined, before: T | undefined): void => {
    const next = now === undefined ? new Set<string>() : new Set(words(now, key));
    const last = before === undefined ? new Set<string>() : new Set(words(before, key));
    for (const word of last) if (!next.has(word)) update(word, (keys) => keys.delete(key));
    for (const word of next) if (!last.has(word)) update(word, (keys) => keys.add(key));
  };
  for (const key of of.keys()) apply(key, of.get(key), undefined);
  of.subscribe(apply);
  const index: Index = {
    get(word) {
      const keys = keyed.collection.get(word);
      if (!keys) return [];
      let sorted = sortedCache.get(word);
      if (!sorted) {
        sorted = [...keys].sort();
        sortedCache.set(word, sorted);
      }
      return sorted;
    },
    words: () => keyed.collection.keys(),
    groups: keyed.collection,
  };
  return { index, entries: () => keyed.cells.size + keyed.members.size };
}
