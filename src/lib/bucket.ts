/** How often something may happen, at once and then each second: a question in, yes or no out. */
export interface Bucket {
  take(): boolean;
  /** How many times at once it may happen now. */
  level(): number;
}

/** `monotonicMs` only goes forward. */
export function createBucket(burst: number, perSecond: number, monotonicMs: () => number): Bucket {
  let left = burst;
  let atMs = monotonicMs();
  const level = (): number => {
    const nowMs = monotonicMs();
    left = Math.min(burst, left + ((nowMs - atMs) / 1000) * perSecond);
    atMs = nowMs;
    return left;
  };
  return {
    level,
    take() {
      if (level() < 1) return false;
      left--;
      return true;
    },
  };
}
