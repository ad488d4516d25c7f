/** How often certificates may be had by one holder, by all of one account, and in total: who comes in, yes or no out. */
import { type Bucket, createBucket, dropOldest } from "../lib/index.ts";

/** Whoever comes for a certificate. */
export interface Claimant {
  /** The identity that it asks for. */
  readonly account: string;
  /** The Pod, or where its proof is bound to none the address, that it comes from. */
  readonly holder: string;
}

export interface RateLimit {
  take(claimant: Claimant): boolean;
}

/** So many at once, and then so many each second. */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

export interface RateLimitOptions {
  readonly perHolder: Rate;
  /** Many Pods of one account start together, and share no more than this. */
  readonly perAccount: Rate;
  readonly total: Rate;
  /** Milliseconds that only go forward. */
  readonly monotonicMs: () => number;
}

/** Keys beyond this many are forgotten, fullest bucket first: a forgotten key merely starts with a full bucket. */
const maxKeys = 20_000;

export function createRateLimit({ perHolder, perAccount, total, monotonicMs }: RateLimitOptions): RateLimit {
  const holders = createBuckets(perHolder, monotonicMs);
  const accounts = createBuckets(perAccount, monotonicMs);
  const all = createBucket(total.burst, total.perSecond, monotonicMs);
  return {
    take({ account, holder }) {
      const buckets = [holders(JSON.stringify([account, holder])), accounts(account), all];
      // Who is refused by one of them takes nothing of the others.
      return buckets.every((bucket) => bucket.level() >= 1) && buckets.every((bucket) => bucket.take());
    },
  };
}

function createBuckets({ burst, perSecond }: Rate, monotonicMs: () => number): (key: string) => Bucket {
  const buckets = new Map<string, Bucket>();
  const forgetFull = (): void => {
    for (const [key, bucket] of buckets) if (bucket.level() >= burst) buckets.delete(key);
    dropOldest(buckets, maxKeys);
  };
  return (key) => {
    if (buckets.size > maxKeys) forgetFull();
    const own = buckets.get(key) ?? createBucket(burst, perSecond, monotonicMs);
    buckets.set(key, own);
    return own;
  };
}
