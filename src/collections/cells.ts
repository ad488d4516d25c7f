/** What is read and what reads: the two sides of every recorded look-up. */

/** What failed runs again whenever it is asked for; who reads it is told once what it had read has changed. */
export type State = "clean" | "suspect" | "stale" | "failed";

/** Which object, and which field of it, made something. */
export interface Cause {
  readonly object: string;
  readonly field?: string;
}

/** What the cells of one collection or memo have in common. */
export interface CellKind {
  readonly name: string;
  /** For root sources, where the key holds a value: what provenance names. */
  origin?(key: string): string | undefined;
  /** For members of a derived set: the computations that made them. */
  behind?(key: string): Iterable<Computation>;
  /** For derived sets: their place in the order in which they are brought up to date. */
  readonly rank?: number;
  /** Readers are told of it only when it has been brought up to date and came out different. */
  readonly isEager?: boolean;
  /** Told when nobody reads the cell any longer. */
  abandoned?(cell: Cell): void;
}

/**
 * Something that can be read: a key of a source, a key of an index, a memo entry. A class, because a mesh has hundreds
 * of thousands of them; for the same reason a lone reader stands for itself, and only several are a set.
 */
export class Cell {
  readonly kind: CellKind;
  readonly key: string;
  readers: Set<Computation> | Computation | undefined = undefined;
  /** The last derived set that it was made from. */
  rank: number;

  constructor(kind: CellKind, key: string) {
    this.kind = kind;
    this.key = key;
    this.rank = kind.rank ?? 0;
  }

  get isRead(): boolean {
    return this.readers !== undefined;
  }

  /** False where it was there before. */
  addReader(reader: Computation): boolean {
    const { readers } = this;
    if (readers === reader) return false;
    if (readers === undefined) this.readers = reader;
    else if (!(readers instanceof Set)) this.readers = new Set([readers, reader]);
    else if (readers.has(reader)) return false;
    else readers.add(reader);
    return true;
  }

  removeReader(reader: Computation): void {
    const { readers } = this;
    if (readers === reader) this.readers = undefined;
    else if (readers instanceof Set && readers.delete(reader) && readers.size < 2) [this.readers] = readers;
  }

  /** Brings the cell up to date; sources always are. */
  refresh(): void {}
}

/** Something that reads. */
export interface Computation {
  state: State;
  running: boolean;
  /** The last derived set that it read. */
  rank: number;
  /** Each once, in the order in which they were first read. */
  reads: Cell[];
  notes: Cause[] | undefined;
  /** For members of a derived set: what was made, as far as somebody reads it. */
  made?(): Iterable<Cell>;
  /** Told once when it leaves the clean state. */
  invalidated(): void;
}

/** A memo's entry is read, and reads. */
export class Entry<V> extends Cell implements Computation {
  readonly memo: EntryOwner<V>;
  state: State = "stale";
  running = false;
  reads: Cell[] = [];
  notes: Cause[] | undefined = undefined;
  value: V | undefined = undefined;
  has = false;
  /** Since the value was made: who reads it may have made do without. */
  hasFailed = false;

  constructor(memo: EntryOwner<V>, key: string) {
    super(memo, key);
    this.memo = memo;
  }

  override refresh(): void {
    this.memo.refresh(this);
  }

  invalidated(): void {
    this.memo.invalidated(this);
  }
}

export interface EntryOwner<V> extends CellKind {
  refresh(entry: Entry<V>): void;
  invalidated(entry: Entry<V>): void;
}
