/** A collection, and the place of each member in an order, in; their keys in that order, kept up to date member by member, out. */
import { Cell } from "./cells.ts";
import type { Collection } from "./collection.ts";
import type { Recorder } from "./recorder.ts";

export interface Ordered {
  /** One read is recorded for all of it. */
  keys(): readonly string[];
}

export interface Order<T, P> {
  /** What its place goes by; undefined for a member that is in no list. */
  place(value: T): P | undefined;
  /** Members with equal places are in order of their keys. */
  compare(a: P, b: P): number;
}

interface Listed<P> {
  readonly key: string;
  readonly place: P;
}

/** More changes than these at once, as when a mesh is read for the first time, are sooner sorted than put in one by one. */
const maxMoves = 16;

export function createOrdered<T, P>(recorder: Recorder, of: Collection<T>, { place, compare }: Order<T, P>): Ordered {
  const cell = new Cell({ name: `${of.name} in order`, rank: of.rank }, "*");
  const places = new Map<string, P>();
  const due = new Map<string, P | undefined>();
  let list: Listed<P>[] = [];
  let keys: readonly string[] = [];

  const compareListed = (a: Listed<P>, b: Listed<P>): number =>
    compare(a.place, b.place) || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);

  const indexFor = (wanted: Listed<P>): number => {
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const there = list[middle];
      if (there && compareListed(there, wanted) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  const move = (key: string, now: P | undefined): void => {
    const before = places.get(key);
    if (before !== undefined) list.splice(indexFor({ key, place: before }), 1);
    if (now !== undefined) list.splice(indexFor({ key, place: now }), 0, { key, place: now });
    put(key, now);
  };

  const put = (key: string, now: P | undefined): void => {
    if (now === undefined) places.delete(key);
    else places.set(key, now);
  };

  const sortAll = (): void => {
    for (const [key, now] of due) put(key, now);
    list = [...places].map(([key, at]) => ({ key, place: at })).sort(compareListed);
  };

  const note = (key: string, value: T | undefined): void => {
    const now = value === undefined ? undefined : place(value);
    // Nobody may ever read it, and members that have gone must not gather meanwhile.
    if (now === undefined && !places.has(key)) due.delete(key);
    else due.set(key, now);
  };

  recorder.untracked(() => {
    for (const key of of.keys()) note(key, of.get(key));
  });
  of.subscribe((key, value) => {
    note(key, value);
    recorder.mark(cell, "stale");
  });
  return {
    keys() {
      recorder.record(cell);
      if (due.size === 0) return keys;
      if (due.size > maxMoves) sortAll();
      else for (const [key, now] of due) move(key, now);
      due.clear();
      keys = list.map(({ key }) => key);
      return keys;
    },
  };
}
