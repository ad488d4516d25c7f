/** Keyed sets as everybody else sees them. */

/** A read-only keyed set whose look-ups are recorded. */
export interface Collection<T> {
  readonly name: string;
  /** Its place among derived sets, which are brought up to date in this order; 0 for what is written from outside. */
  readonly rank: number;
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
export interface Index {
  /** Member keys, sorted. */
  get(word: string): readonly string[];
  /** All words that have members, sorted. */
  words(): readonly string[];
  /** The same as a collection, word -> member keys: what groups are derived from. */
  readonly groups: Collection<ReadonlySet<string>>;
}
