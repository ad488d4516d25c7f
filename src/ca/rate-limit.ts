/** How often something may happen, per key and in total: a key in, yes or no out. */
import { dropOldest } from "../lib/index.ts";

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

interface Bucket {
  level: number;
  at: number;
}

export function createRateLimit(options: RateLimitOptions): RateLimit {
  const { perKey, total, monotonicMs } = options;
  const keys = new Map<string, Bucket>();
  const all: Bucket = { level: total.burst, at: monotonicMs() };

  const refill = (bucket: Bucket, limit: RateLimitOptions["total"], now: number): void => {
    bucket.level = Math.min(limit.burst, bucket.level + ((now - bucket.at) / 1000) * limit.perSecond);
    bucket.at = now;
  };
  const forgetFull = (now: number): void => {
    for (const [key, bucket] of keys) {
      refill(bucket, perKey, now);
      if (bucket.level >= perKey.burst) keys.delete(key);
    }
    dropOldest(keys, maxKeys);
  };
  return {
    take(key) {
      const now = monotonicMs();
      if (keys.size > maxKeys) forgetFull(now);
      const own = keys.get(key) ?? { level: perKey.burst, at: now };
      keys.set(key, own);
      refill(own, perKey, now);
      refill(all, total, now);
      if (own.level < 1 || all.level < 1) return false;
      own.level--;
      all.level--;
      return true;
    },
  };
}
