/** What is read and what reads: the two sides of every recorded look-up. */

export type State = "clean" | "suspect" | "stale";

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
}

/**
 * Something that can be read: a key of a source, a key of an index, a memo entry. A class, because a mesh has hundreds
 * of thousands of them; readers are noted only once there are some.
 */
export class Cell {
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
export interface Computation {
  state: State;
  running: boolean;
  /** Each once, in the order in which they were first read. */
  reads: Cell[];
  notes: Cause[] | undefined;
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

export interface EntryOwner<V> extends CellKind {
  refresh(entry: Entry<V>): void;
  readonly onInvalidate: ((key: string) => void) | undefined;
}
