/** How often something may happen, at once and then each second: a question in, yes or no out. */
export interface Bucket {
  take(): boolean;
}

export function createBucket(burst: number, perSecond: number, monotonicMs: () => number): Bucket {
  let level = burst;
  let atMs = monotonicMs();
  return {
    take() {
      const nowMs = monotonicMs();
      level = Math.min(burst, level + ((nowMs - atMs) / 1000) * perSecond);
      atMs = nowMs;
      if (level < 1) return false;
      level--;
      return true;
    },
  };
}
