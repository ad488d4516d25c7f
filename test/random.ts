/** A seed in; the same choices every time out. */

export interface Random {
  /** Below the bound. */
  whole(bound: number): number;
  pick<T>(items: readonly T[]): T;
  chance(probability: number): boolean;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const whole = (bound: number): number => Math.floor(next() * bound);
  return {
    whole,
    pick(items) {
      const chosen = items[whole(items.length)];
      if (chosen === undefined) throw new Error("nothing to pick from");
      return chosen;
    },
    chance: (probability) => next() < probability,
  };
}
