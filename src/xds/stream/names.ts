/**
 * The names that a stream asks for. Proxies of one kind ask for the same thousand names, so a set exists once and each
 * stream keeps only how its own differs.
 */

export class Names {
  readonly #pool: NamePool;
  #shared: ReadonlySet<string> = none;
  /** Made when there is something to put into them, as most streams ask for what others ask for. */
  #added: Set<string> | undefined;
  #removed: Set<string> | undefined;

  constructor(pool: NamePool) {
    this.#pool = pool;
  }

  get size(): number {
    return this.#shared.size - (this.#removed?.size ?? 0) + (this.#added?.size ?? 0);
  }

  has(name: string): boolean {
    return this.#added?.has(name) || (this.#shared.has(name) && !this.#removed?.has(name));
  }

  *[Symbol.iterator](): Generator<string> {
    for (const name of this.#shared) if (!this.#removed?.has(name)) yield name;
    yield* this.#added ?? none;
  }

  /** The names as others have them too; undefined where the stream's own differ. */
  get pooled(): ReadonlySet<string> | undefined {
    return this.#differing === 0 ? this.#shared : undefined;
  }

  /** These instead of all before; the set or list is given away. */
  replace(names: ReadonlySet<string> | readonly string[]): void {
    this.#shared = this.#pool(names);
    this.#added = undefined;
    this.#removed = undefined;
  }

  get #differing(): number {
    return (this.#added?.size ?? 0) + (this.#removed?.size ?? 0);
  }

  /** False where it was there already. */
  add(name: string): boolean {
    if (this.has(name)) return false;
    if (this.#removed?.delete(name)) return true;
    this.#added ??= new Set();
    this.#added.add(name);
    return true;
  }

  /** False where it was not there. */
  delete(name: string): boolean {
    if (this.#added?.delete(name)) return true;
    if (!this.#shared.has(name) || this.#removed?.has(name)) return false;
    this.#removed ??= new Set();
    this.#removed.add(name);
    return true;
  }

  /** Called after a request: where many names are the stream's own, a set is looked for that others have too. */
  settle(): void {
    if (this.#differing > maxOwn) this.replace(new Set(this));
  }
}

const none: ReadonlySet<string> = new Set();

const maxOwn = 32;

/**
 * Names in, a set with the same names out: the same object for all who ask while one of them holds it. For a list that
 * was asked with before nothing is looked at, as many streams are handed the same one.
 */
export type NamePool = (names: ReadonlySet<string> | readonly string[]) => ReadonlySet<string>;

export function createNamePool(): NamePool {
  const known = new Map<number, readonly WeakRef<ReadonlySet<string>>[]>();
  const gone = new FinalizationRegistry<number>((key) => {
    const left = (known.get(key) ?? []).filter((ref) => ref.deref());
    if (left.length > 0) known.set(key, left);
    else known.delete(key);
  });
  const byList = new WeakMap<readonly string[], ReadonlySet<string>>();

  function ofSet(wanted: ReadonlySet<string>): ReadonlySet<string> {
    if (wanted.size === 0) return none;
    const key = hashOf(wanted);
    const refs = known.get(key) ?? [];
    for (const ref of refs) {
      const found = ref.deref();
      if (found?.size === wanted.size && wanted.isSubsetOf(found)) return found;
    }
    // A client that makes many sets collide must not make this a long search.
    known.set(key, [...refs, new WeakRef(wanted)].slice(-maxBucket));
    gone.register(wanted, key);
    return wanted;
  }

  return (names) => {
    if (!isList(names)) return ofSet(names);
    const found = byList.get(names) ?? ofSet(new Set(names));
    byList.set(names, found);
    return found;
  };
}

const isList = (names: ReadonlySet<string> | readonly string[]): names is readonly string[] => Array.isArray(names);

const maxBucket = 8;

/** The same whatever the order; it narrows the search, and decides nothing. */
function hashOf(names: ReadonlySet<string>): number {
  let sum = names.size;
  for (const name of names) sum = (sum + hashName(name)) | 0;
  return sum;
}

/** Of some characters only: names of one kind differ in their middle or their end. */
function hashName(name: string): number {
  const { length } = name;
  let hash = length;
  for (let step = Math.max(1, length >> 3), at = length - 1; at >= 0; at -= step)
    hash = (Math.imul(hash, 31) + name.charCodeAt(at)) | 0;
  return hash;
}
