/**
 * Numbers that were counted, slot of time by slot in; their sums over the latest slots out. Memory is given once, for all
 * slots, and narrow: whole numbers take two bytes each until one does not fit.
 */

/** Rings of one resolution. */
export interface Resolution {
  readonly slotMs: number;
  readonly slots: number;
}

type Numbers = Uint16Array | Uint32Array | Float64Array;

const most16 = 0xffff;
const most32 = 0xffff_ffff;

export class Ring {
  readonly #columns: number;
  readonly #slots: number;
  #numbers: Numbers;
  /** Number of the slot that was written last, counted from the beginning of time. */
  #newest = Number.NEGATIVE_INFINITY;

  /** `wide` is for numbers that are no counts of requests, such as bytes. */
  constructor(columns: number, slots: number, wide: boolean) {
    this.#columns = columns;
    this.#slots = slots;
    this.#numbers = wide ? new Float64Array(columns * slots) : new Uint16Array(columns * slots);
  }

  get bytes(): number {
    return this.#numbers.byteLength;
  }

  /** What is older than the ring is long is lost. */
  add(slot: number, counts: readonly number[]): void {
    this.#advance(slot);
    if (slot <= this.#newest - this.#slots) return;
    const start = this.#start(slot);
    for (let column = 0; column < this.#columns; column++) {
      const more = counts[column] ?? 0;
      if (more > 0) this.#put(start + column, (this.#numbers[start + column] ?? 0) + more);
    }
  }

  /** Adds what the slots from one to the other have, both included. */
  sum(from: number, to: number, into: number[]): void {
    const first = Math.max(from, this.#newest - this.#slots + 1);
    for (let slot = first; slot <= Math.min(to, this.#newest); slot++) {
      const start = this.#start(slot);
      for (let column = 0; column < this.#columns; column++)
        into[column] = (into[column] ?? 0) + (this.#numbers[start + column] ?? 0);
    }
  }

  #start(slot: number): number {
    return (slot % this.#slots) * this.#columns;
  }

  #advance(slot: number): void {
    if (slot <= this.#newest) return;
    if (slot - this.#newest >= this.#slots) this.#numbers.fill(0);
    else
      for (let passed = this.#newest + 1; passed <= slot; passed++) {
        const start = this.#start(passed);
        this.#numbers.fill(0, start, start + this.#columns);
      }
    this.#newest = slot;
  }

  #put(place: number, value: number): void {
    if (value > most16 && this.#numbers instanceof Uint16Array) this.#numbers = Uint32Array.from(this.#numbers);
    // A typed array would begin again at zero.
    this.#numbers[place] = this.#numbers instanceof Uint32Array ? Math.min(value, most32) : value;
  }
}
