/**
 * The one recorder of reads. In: changes to keyed sources. Out: derived sets and memos that are brought up to date
 * only where something they read has changed, and that know which inputs they came from.
 *
 * Every look-up made while a computation runs is recorded, a look-up that found nothing too. A change marks direct
 * readers stale and everything behind them suspect; a suspect is recomputed only if one of its inputs really came out
 * different. So a change costs its own size, and the recorded reads are the provenance at the same time.
 */

import type { Cell } from "./cells.ts";
import type { Collection, Index, Source } from "./collection.ts";
import { createSharedDependents, dependentsOf } from "./dependents.ts";
import { createDerived, type Derived, type OnFault } from "./derived.ts";
import { createHold, type Hold } from "./hold.ts";
import { createKeyed } from "./keyed.ts";
import { createIndex } from "./member-index.ts";
import { createMemberMemo, type MemberMemo, type MemberOptions } from "./member-memo.ts";
import { createMemo, type Memo, type MemoOptions } from "./memo.ts";
import { createOrdered, type Order, type Ordered } from "./ordered.ts";
import { createRecorder } from "./recorder.ts";
import { sameData } from "./same-data.ts";

export interface Graph {
  readonly version: number;
  /** Makes changes to sources as one step; derived collections are up to date when it returns. */
  change(apply: () => void): void;
  source<T>(name: string, options?: SourceOptions<T>): Source<T>;
  index<T>(of: Collection<T>, name: string, words: (value: T, key: string) => Iterable<string>): Index;
  /** The keys of a collection's members in an order of the members. */
  ordered<T, P>(of: Collection<T>, order: Order<T, P>): Ordered;
  /** One input member becomes any number of keyed outputs; kept up to date eagerly. The first to claim a key has it. */
  derive<I, O>(
    name: string,
    from: Collection<I>,
    compute: (value: I, key: string) => Iterable<readonly [string, O]>,
    equals?: (a: O, b: O) => boolean,
  ): Collection<O>;
  /**
   * Computed when asked for. An entry that nobody reads is dropped by the next sweep, unless its memo wants to be told
   * of outdated entries.
   */
  memo<V>(name: string, compute: (key: string, last: V | undefined) => V, options?: MemoOptions<V>): Memo<V>;
  /** A memo whose results are put together from members of a list: a change costs what it changes, not the list. */
  members<M, V>(name: string, options: MemberOptions<M, V>): MemberMemo<V>;
  /** Drops what nobody reads any longer; each change ends with it. */
  sweep(): void;
  /** For work in steps that changes come between: what it has looked up is not dropped before it is released. */
  hold(): Hold;
  /** Everything that is kept: cells that are read, members of derived sets, entries of memos. What comes and goes leaves none. */
  readonly entries: number;
  /** How many look-ups were recorded so far: tests count work with it. */
  readonly reads: number;
  /** Adds "this field caused it" to the computation that is running. */
  note(object: string, field: string): void;
  /**
   * What memos keep that was made from this member of a source, be it by way of others: what provenance says, the other
   * way round. While listeners are told of a change it is what the member before was read by.
   */
  dependents(of: Collection<unknown>, key: string): Iterable<unknown>;
  /**
   * The same for many members at one moment, each in a few lists: what was made by way of something that many read is one
   * list, and the same for all of them. A value may be in several.
   */
  sharedDependents(): (of: Collection<unknown>, key: string) => Iterable<readonly unknown[]>;
  /** Runs without recording; for work whose result must not depend on what it looks at (logs, metrics). */
  untracked<T>(work: () => T): T;
}

export interface GraphOptions {
  /** Told when a member of a derived set cannot be computed; without it that is thrown. */
  readonly onFault?: OnFault;
}

interface SourceOptions<T> {
  /** What provenance calls a member; the key where absent. */
  readonly describe?: (key: string, value: T) => string;
  readonly equals?: (a: T, b: T) => boolean;
}

export function createGraph(options: GraphOptions = {}): Graph {
  const recorder = createRecorder();
  const onFault: OnFault =
    options.onFault ??
    ((_what, error) => {
      throw error;
    });
  let version = 0;
  let depth = 0;
  /** Derived collections in creation order: each may read only earlier ones, and is stopped where it reads a later one. */
  const eager: Derived<unknown>[] = [];
  const counted = new Set<() => number>();
  const sources = new WeakMap<object, ReadonlyMap<string, Cell>>();

  const change = (apply: () => void): void => {
    depth++;
    try {
      apply();
    } finally {
      depth--;
      if (depth === 0) {
        version++;
        for (const { flush } of eager) flush();
        recorder.settle();
        recorder.sweep();
        stopLateReads();
      }
    }
  };

  /** A memo may come to read a later set without its readers running, which is when they would be stopped. */
  const stopLateReads = (): void => {
    for (const { collection, due } of eager) {
      const key = due();
      if (key === undefined) continue;
      const what = `${collection.name}/${key}`;
      onFault(what, new Error(`${what} reads a set that is derived after ${collection.name}`));
    }
  };

  return {
    get version() {
      return version;
    },
    change,
    source<T>(name: string, { describe, equals = Object.is }: SourceOptions<T> = {}): Source<T> {
      const { members, cells, put, collection } = createKeyed<T>(
        recorder,
        name,
        describe ?? ((key) => `${name}/${key}`),
      );
      counted.add(() => cells.size);
      sources.set(collection, cells);
      return Object.assign(collection, {
        set(key: string, value: T) {
          const before = members.get(key);
          if (before !== undefined && equals(before, value)) return;
          change(() => put(key, value));
        },
        delete(key: string) {
          if (members.has(key)) change(() => put(key, undefined));
        },
      });
    },
    index(of, name, words) {
      const { index, entries } = createIndex(recorder, of, name, words);
      counted.add(entries);
      return index;
    },
    derive(name, from, compute, equals = sameData) {
      const rank = eager.length + 1;
      const derived = createDerived(recorder, onFault, { name, rank, from, compute, equals });
      eager.push(derived);
      counted.add(derived.entries);
      return derived.collection;
    },
    memo(name, compute, memoOptions = {}) {
      const size = (): number => memo.size;
      const memo = createMemo(recorder, name, compute, memoOptions, () => counted.delete(size));
      counted.add(size);
      return memo;
    },
    members(name, memberOptions) {
      const size = (): number => memo.size;
      const memo = createMemberMemo(recorder, name, memberOptions, () => counted.delete(size));
      counted.add(size);
      return memo;
    },
    ordered: (of, order) => createOrdered(recorder, of, order),
    get reads() {
      return recorder.reads;
    },
    sweep: recorder.sweep,
    hold: () => createHold(recorder),
    get entries() {
      return counted.values().reduce((sum, count) => sum + count(), 0);
    },
    note: recorder.note,
    dependents: (of, key) => dependentsOf(sources.get(of)?.get(key)),
    sharedDependents() {
      const listsOf = createSharedDependents();
      return (of, key) => listsOf(sources.get(of)?.get(key));
    },
    untracked: recorder.untracked,
  };
}
