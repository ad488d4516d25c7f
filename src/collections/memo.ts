/** A function of a key in; its results, computed when asked for and again only when something they read has changed, out. */
import { type IsPart, type Provenance, provenanceOf } from "./causes.ts";
import { type Cause, type Cell, Entry, type EntryOwner } from "./cells.ts";
import type { Recorder } from "./recorder.ts";
import { sameData } from "./same-data.ts";
import { createTally, dropCounted, runCounted, type Tally } from "./tally.ts";

export interface Memo<V> {
  get(key: string): V;
  /** Whether it is known that asking for it computes nothing. */
  isFresh(key: string): boolean;
  /** Whether it was computed before, be it outdated. */
  isKept(key: string): boolean;
  /** The root objects (and noted fields) that this entry was made from. */
  causes(key: string): readonly Cause[];
  /** The same, ranked, with what was looked for in vain; only of the part that is meant, where one is. */
  provenance(key: string, isPart?: IsPart): Provenance;
  /** How often an entry was computed: tests count work with it. */
  readonly computed: number;
  readonly tally: Readonly<Tally>;
  /** Entries that are kept. */
  readonly size: number;
  drop(key: string): void;
  dispose(): void;
}

export interface MemoOptions<V> {
  /** When true the old value is kept and readers are left alone. Default: identity, then structural for plain data. */
  readonly equals?: (a: V, b: V) => boolean;
  /**
   * Told when an entry that had been computed may have become outdated. Whoever wants to know needs the entry, so it
   * stays until it is dropped; others go when nobody reads them.
   */
  readonly onInvalidate?: (key: string) => void;
  /**
   * Brought up to date with each change, as derived sets are: readers are told only where it came out different. For
   * what is cheap to make, is read by many, and is nearly always the same. Derived sets must not read it.
   */
  readonly isEager?: boolean;
}

/** `compute` is handed what the entry had before, for work that may fail and then stays as it was. */
export function createMemo<V>(
  recorder: Recorder,
  name: string,
  compute: (key: string, last: V | undefined) => V,
  options: MemoOptions<V>,
  closed: () => void,
): Memo<V> {
  const equals = options.equals ?? sameData;
  const entries = new Map<string, Entry<V>>();
  const tally = createTally();
  const drop = (key: string): void => {
    const entry = entries.get(key);
    if (!entry || entry.running) return;
    recorder.mark(entry, "stale");
    dropCounted(tally, recorder, entry);
    entries.delete(key);
  };
  /** One that was dropped before has made room for another, which may well be read. */
  const abandoned = (cell: Cell): void => {
    if (entries.get(cell.key) === cell) drop(cell.key);
  };
  const runOf = (entry: Entry<V>): V => {
    try {
      return runCounted(tally, recorder, entry, () => compute(entry.key, entry.value));
    } catch (error) {
      entry.hasFailed = true;
      throw error;
    }
  };
  /** Whether it had to be computed. */
  const refresh = (entry: Entry<V>): boolean => {
    if (!recorder.outdated(entry)) return false;
    const value = runOf(entry);
    tally.computed++;
    if (entry.has && !entry.hasFailed && equals(entry.value as V, value)) return true;
    entry.hasFailed = false;
    entry.value = value;
    entry.has = true;
    recorder.mark(entry, "stale");
    return true;
  };
  const { isEager = false, onInvalidate } = options;
  const owner: EntryOwner<V> = {
    name,
    isEager,
    // Later than every derived set: these are stopped where they read it.
    ...(isEager ? { rank: Number.POSITIVE_INFINITY } : {}),
    invalidated(entry) {
      if (isEager) recorder.settleLater(entry);
      onInvalidate?.(entry.key);
    },
    ...(onInvalidate ? {} : { abandoned }),
    refresh,
  };
  return {
    get(key) {
      let entry = entries.get(key);
      if (!entry) {
        entry = new Entry(owner, key);
        entries.set(key, entry);
      }
      recorder.visit(entry);
      if (entry.running) throw new Error(`${name}/${key} depends on itself`);
      try {
        if (!refresh(entry)) tally.hits++;
      } finally {
        // A failure too: who contains it has to run again when it is over.
        recorder.record(entry);
      }
      return entry.value as V;
    },
    isKept: (key) => entries.has(key),
    isFresh: (key) => entries.get(key)?.state === "clean",
    causes: (key) => provenanceOf(entries.get(key)).causes,
    provenance: (key, isPart) => provenanceOf(entries.get(key), isPart),
    tally,
    get computed() {
      return tally.computed;
    },
    get size() {
      return entries.size;
    },
    drop,
    dispose() {
      closed();
      for (const key of [...entries.keys()]) drop(key);
    },
  };
}
