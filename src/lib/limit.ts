/** Work in; the same out, of which so many are under way at once at most, in the order in which they came. */

export type Limit = <T>(work: () => Promise<T>) => Promise<T>;

export function createLimit(most: number): Limit {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await work();
    } finally {
      // Who waits takes over the place.
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
