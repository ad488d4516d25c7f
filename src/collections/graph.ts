/**
 * The one recorder of reads. In: changes to keyed sources. Out: derived sets and memos that are brought up to date
 * only where something they read has changed, and that know which inputs they came from.
 *
 * Every look-up made while a computation runs is recorded, a look-up that found nothing too. A change marks direct
 * readers stale and everything behind them suspect; a suspect is recomputed only if one of its inputs really came out
 * different. So a change costs its own size, and the recorded reads are the provenance at the same time.
 */

type State = "clean" | "suspect" | "stale";

/** What the cells of one collection or memo have in common. */
interface CellKind {
  readonly name: string;
  /** For root sources, where the key holds a value: what provenance names. */
  origin?(key: string): string | undefined;
  /** For members of a derived set: the computations that made them. */
  behind?(key: string): Iterable<Computation>;
}

/**
 * Something that can be read: a key of a source, a key of an index, a memo entry. A class, because a mesh has hundreds
 * of thousands of them; readers are noted only once there are some.
 */
class Cell {
  readonly kind: CellKind;
  readonly key: string;
  readers: Set<Computation> | undefined = undefined;

  constructor(kind: CellKind, key: string) {
    this.kind = kind;
    this.key = key;
  }

  /** Brings the cell up to date; sources always are. */
  refresh(): void {}
}

/** Something that reads. */
interface Computation {
  state: State;
  running: boolean;
  /** Each once, in the order in which they were first read. */
  reads: Cell[];
  notes: Cause[] | undefined;
  /** Told once when it leaves the clean state. */
  invalidated(): void;
}

/** A memo's entry is read, and reads. */
class Entry<V> extends Cell implements Computation {
  readonly memo: EntryOwner<V>;
  state: State = "stale";
  running = false;
  reads: Cell[] = [];
  notes: Cause[] | undefined = undefined;
  value: V | undefined = undefined;
  has = false;

  constructor(memo: EntryOwner<V>, key: string) {
    super(memo, key);
    this.memo = memo;
  }

  override refresh(): void {
    this.memo.refresh(this);
  }

  invalidated(): void {
    this.memo.onInvalidate?.(this.key);
  }
}

interface EntryOwner<V> extends CellKind {
  refresh(entry: Entry<V>): void;
  readonly onInvalidate: ((key: string) => void) | undefined;
}

/** Which object, and which field of it, made something. */
export interface Cause {
  readonly object: string;
  readonly field?: string;
}

/** A read-only keyed set whose look-ups are recorded. */
export interface Collection<T> {
  readonly name: string;
  get(key: string): T | undefined;
  /** All keys, sorted. Recorded as a read of the membership: prefer an index. */
  keys(): readonly string[];
  /** Not recorded; for listings and metrics outside any computation. */
  readonly size: number;
  subscribe(listener: (key: string, now: T | undefined, before: T | undefined) => void): () => void;
}

/** A collection that is written from outside. */
export interface Source<T> extends Collection<T> {
  set(key: string, value: T): void;
  delete(key: string): void;
}

/** The keys of a collection's members by a word derived from each member. */
interface Index {
  /** Member keys, sorted. */
  get(word: string): readonly string[];
  /** All words that have members, sorted. */
  words(): readonly string[];
  /** The same as a collection, word -> member keys: what groups are derived from. */
  readonly groups: Collection<ReadonlySet<string>>;
}

export interface Memo<V> {
  get(key: string): V;
  /** The root objects (and noted fields) that this entry was made from. */
  causes(key: string): readonly Cause[];
  /** How often an entry was computed: tests count work with it. */
  readonly computed: number;
  drop(key: string): void;
  dispose(): void;
}

interface MemoOptions<V> {
  /** When true the old value is kept and readers are left alone. Default: identity, then structural for plain data. */
  readonly equals?: (a: V, b: V) => boolean;
  /** Told when an entry that had been computed may have become outdated. */
  readonly onInvalidate?: (key: string) => void;
}

export interface Graph {
  readonly version: number;
  /** Makes changes to sources as one step; derived collections are up to date when it returns. */
  change(apply: () => void): void;
  source<T>(name: string, options?: SourceOptions<T>): Source<T>;
  index<T>(of: Collection<T>, name: string, words: (value: T, key: string) => Iterable<string>): Index;
  /** One input member becomes any number of keyed outputs; kept up to date eagerly. The first to claim a key has it. */
  derive<I, O>(
    name: string,
    from: Collection<I>,
    compute: (value: I, key: string) => Iterable<readonly [string, O]>,
    equals?: (a: O, b: O) => boolean,
  ): Collection<O>;
  memo<V>(name: string, compute: (key: string) => V, options?: MemoOptions<V>): Memo<V>;
  /** Adds "this field caused it" to the computation that is running. */
  note(object: string, field: string): void;
  /** Runs without recording; for work whose result must not depend on what it looks at (logs, metrics). */
  untracked<T>(work: () => T): T;
}

interface SourceOptions<T> {
  /** What provenance calls a member; the key where absent. */
  readonly describe?: (key: string, value: T) => string;
  readonly equals?: (a: T, b: T) => boolean;
}

export function createGraph(): Graph {
  let current: Computation | undefined;
  let version = 0;
  let depth = 0;
  /** Derived collections in creation order: each may read only earlier ones. */
  const eager: { flush(): void }[] = [];

  const record = (cell: Cell): void => {
    if (!current) return;
    cell.readers ??= new Set();
    if (cell.readers.has(current)) return;
    cell.readers.add(current);
    current.reads.push(cell);
  };

  const forget = (computation: Computation): void => {
    for (const cell of computation.reads) cell.readers?.delete(computation);
    computation.reads = [];
    computation.notes = undefined;
  };

  const run = <V>(computation: Computation, work: () => V): V => {
    forget(computation);
    const outer = current;
    current = computation;
    // Clean before the work, so that a change made by the work itself (which would be a fault) is not lost.
    computation.state = "clean";
    computation.running = true;
    try {
      return work();
    } catch (error) {
      computation.state = "stale";
      throw error;
    } finally {
      computation.running = false;
      current = outer;
    }
  };

  const mark = (cell: Cell, state: "stale" | "suspect"): void => {
    for (const reader of cell.readers ?? []) {
      const was = reader.state;
      if (was === "stale" || was === state) continue;
      reader.state = state;
      if (was !== "clean") continue;
      reader.invalidated();
      if (reader instanceof Cell) mark(reader, "suspect");
    }
  };

  /** True when the computation has to run again. */
  const outdated = (computation: Computation): boolean => {
    if (computation.state === "suspect") {
      for (const cell of computation.reads) {
        cell.refresh();
        if ((computation.state as State) === "stale") return true;
      }
      computation.state = "clean";
    }
    return computation.state === "stale";
  };

  const createKeyed = <T>(
    name: string,
    describe?: (key: string, value: T) => string,
    behind?: (key: string) => Iterable<Computation>,
  ) => {
    const members = new Map<string, T>();
    const cells = new Map<string, Cell>();
    const listeners = new Set<(key: string, now: T | undefined, before: T | undefined) => void>();
    let sorted: readonly string[] | undefined;
    const membership = new Cell({ name }, "*");
    const kind: CellKind = {
      name,
      ...(behind ? { behind } : {}),
      ...(describe
        ? {
            origin(key: string) {
              const value = members.get(key);
              return value === undefined ? undefined : describe(key, value);
            },
          }
        : {}),
    };
    const cellOf = (key: string): Cell => {
      let cell = cells.get(key);
      if (!cell) {
        cell = new Cell(kind, key);
        cells.set(key, cell);
      }
      return cell;
    };
    const put = (key: string, value: T | undefined): void => {
      const before = members.get(key);
      if (value === undefined) members.delete(key);
      else members.set(key, value);
      if ((before === undefined) !== (value === undefined)) {
        sorted = undefined;
        mark(membership, "stale");
      }
      const cell = cells.get(key);
      if (cell) {
        if (!cell.readers?.size) cells.delete(key);
        else mark(cell, "stale");
      }
      for (const listener of listeners) listener(key, value, before);
    };
    const collection: Collection<T> = {
      name,
      get(key) {
        if (current) record(cellOf(key));
        return members.get(key);
      },
      keys() {
        record(membership);
        sorted ??= [...members.keys()].sort();
        return sorted;
      },
      get size() {
        return members.size;
      },
      subscribe(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
    return { members, put, collection };
  };

  const change = (apply: () => void): void => {
    depth++;
    try {
      apply();
    } finally {
      depth--;
      if (depth === 0) {
        version++;
        for (const node of eager) node.flush();
      }
    }
  };

  return {
    get version() {
      return version;
    },
    change,

    source<T>(name: string, options: SourceOptions<T> = {}): Source<T> {
      const { members, put, collection } = createKeyed<T>(name, options.describe ?? ((key) => `${name}/${key}`));
      const equals = options.equals ?? Object.is;
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

    index<T>(of: Collection<T>, name: string, words: (value: T, key: string) => Iterable<string>): Index {
      const keyed = createKeyed<ReadonlySet<string>>(`${of.name}.${name}`);
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
      return {
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
    },

    derive<I, O>(
      name: string,
      from: Collection<I>,
      compute: (value: I, key: string) => Iterable<readonly [string, O]>,
      equals: (a: O, b: O) => boolean = sameData,
    ): Collection<O> {
      const out = createKeyed<O>(name, undefined, (key) =>
        [...(claims.get(key)?.keys() ?? [])].flatMap((input) => entries.get(input) ?? []),
      );
      /** Output key -> the input keys that claim it, in order of their names; the first has it. */
      const claims = new Map<string, Map<string, O>>();
      const entries = new Map<string, Computation & { outputs: Map<string, O> }>();
      const dirty = new Set<string>();
      const settle = (key: string): void => {
        const claim = claims.get(key);
        const first = claim && [...claim.keys()].sort()[0];
        const value = first === undefined ? undefined : claim?.get(first);
        const before = out.members.get(key);
        if (value === before || (value !== undefined && before !== undefined && equals(before, value))) return;
        out.put(key, value);
      };
      const assign = (inputKey: string, before: Map<string, O>, now: Map<string, O>): void => {
        for (const key of before.keys()) {
          if (now.has(key)) continue;
          const claim = claims.get(key);
          claim?.delete(inputKey);
          if (claim?.size === 0) claims.delete(key);
        }
        for (const [key, value] of now) {
          let claim = claims.get(key);
          if (!claim) {
            claim = new Map();
            claims.set(key, claim);
          }
          claim.set(inputKey, value);
        }
        for (const key of new Set([...before.keys(), ...now.keys()])) settle(key);
      };
      const flush = (): void => {
        for (const key of dirty) {
          const entry = entries.get(key) ?? {
            state: "stale",
            running: false,
            reads: [],
            notes: undefined,
            outputs: new Map(),
            invalidated: () => dirty.add(key),
          };
          entries.set(key, entry);
          if (!outdated(entry)) continue;
          const before = entry.outputs;
          entry.outputs = run(entry, () => {
            const value = from.get(key);
            return value === undefined ? new Map() : new Map(compute(value, key));
          });
          assign(key, before, entry.outputs);
          if (entry.outputs.size === 0 && from.get(key) === undefined) {
            forget(entry);
            entries.delete(key);
          }
        }
        dirty.clear();
      };
      for (const key of from.keys()) dirty.add(key);
      from.subscribe((key) => {
        dirty.add(key);
      });
      eager.push({ flush });
      flush();
      return out.collection;
    },

    memo<V>(name: string, compute: (key: string) => V, options: MemoOptions<V> = {}): Memo<V> {
      const equals = options.equals ?? sameData;
      const entries = new Map<string, Entry<V>>();
      let computed = 0;
      const owner: EntryOwner<V> = {
        name,
        onInvalidate: options.onInvalidate,
        refresh(entry) {
          if (!outdated(entry)) return;
          const value = run(entry, () => compute(entry.key));
          computed++;
          if (entry.has && equals(entry.value as V, value)) return;
          const had = entry.has;
          entry.value = value;
          entry.has = true;
          if (had) mark(entry, "stale");
        },
      };
      const drop = (key: string): void => {
        const entry = entries.get(key);
        if (!entry) return;
        mark(entry, "stale");
        forget(entry);
        entries.delete(key);
      };
      return {
        get(key) {
          let entry = entries.get(key);
          if (!entry) {
            entry = new Entry(owner, key);
            entries.set(key, entry);
          }
          if (entry.running) throw new Error(`${name}/${key} depends on itself`);
          owner.refresh(entry);
          record(entry);
          return entry.value as V;
        },
        causes(key) {
          const entry = entries.get(key);
          return entry ? collectCauses(entry) : [];
        },
        get computed() {
          return computed;
        },
        drop,
        dispose() {
          for (const key of [...entries.keys()]) drop(key);
        },
      };
    },

    note(object, field) {
      if (!current) return;
      current.notes ??= [];
      current.notes.push({ object, field });
    },

    untracked<T>(work: () => T): T {
      const outer = current;
      current = undefined;
      try {
        return work();
      } finally {
        current = outer;
      }
    },
  };
}

function collectCauses(entry: Computation): Cause[] {
  const seen = new Set<Cell>();
  const causes = new Map<string, Cause>();
  const walk = (computation: Computation): void => {
    for (const note of computation.notes ?? []) causes.set(`${note.object}#${note.field}`, note);
    for (const cell of computation.reads) {
      if (seen.has(cell)) continue;
      seen.add(cell);
      const object = cell.kind.origin?.(cell.key);
      if (object !== undefined) causes.set(object, { object });
      if (cell instanceof Entry) walk(cell);
      for (const maker of cell.kind.behind?.(cell.key) ?? []) walk(maker);
    }
  };
  walk(entry);
  const key = (cause: Cause): string => `${cause.object}#${cause.field ?? ""}`;
  return [...causes.values()].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** Structural equality of plain data; anything else (class instances, functions, bytes) is compared by identity. */
export function sameData(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, i) => sameData(item, b[i]));
  }
  if (a instanceof Map) {
    if (!(b instanceof Map) || a.size !== b.size) return false;
    for (const [key, value] of a) if (!b.has(key) || !sameData(value, b.get(key))) return false;
    return true;
  }
  if (a instanceof Set) {
    if (!(b instanceof Set) || a.size !== b.size) return false;
    for (const value of a) if (!b.has(value)) return false;
    return true;
  }
  const prototype = Object.getPrototypeOf(a);
  if (prototype !== Object.getPrototypeOf(b) || (prototype !== Object.prototype && prototype !== null)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && sameData(a[key as keyof typeof a], b[key as keyof typeof b]));
}
