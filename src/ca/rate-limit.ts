/** How often something may happen, per key and in total: a key in, yes or no out. */
import { type Bucket, createBucket, dropOldest } from "../lib/index.ts";

export interface RateLimit {
  take(key: string): boolean;
}

export interface RateLimitOptions {
  readonly perKey: { readonly burst: number; readonly perSecond: number };
  readonly total: { readonly burst: number; readonly perSecond: number };
  /** Milliseconds that only go forward. */
  readonly monotonicMs: () => number;
}

/** Keys beyond this many are forgotten, fullest bucket first: a forgotten key merely starts with a full bucket. */
const maxKeys = 20_000;

export function createRateLimit({ perKey, total, monotonicMs }: RateLimitOptions): RateLimit {
  const keys = new Map<string, Bucket>();
  const all = createBucket(total.burst, total.perSecond, monotonicMs);
  const forgetFull = (): void => {
    for (const [key, bucket] of keys) if (bucket.level() >= perKey.burst) keys.delete(key);
    dropOldest(keys, maxKeys);
  };
  return {
    take(key) {
      if (keys.size > maxKeys) forgetFull();
      const own = keys.get(key) ?? createBucket(perKey.burst, perKey.perSecond, monotonicMs);
      keys.set(key, own);
      // Who is refused by one of both takes nothing of the other.
      return own.level() >= 1 && all.take() && own.take();
    },
  };
}
