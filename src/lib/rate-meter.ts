/** Counts that only grow in; how fast they grow now, over a second or what has passed since they were asked for last, out. */
import { wait } from "./backoff.ts";

export interface Rates {
  readonly windowMs: number;
  /** What each grew by in a second. */
  readonly perSecond: ReadonlyMap<string, number>;
}

export interface RateMeter {
  rates(): Promise<Rates>;
}

export interface RateMeterOptions {
  /** By name. One that was not there before is left out until it has been seen twice. */
  readonly read: () => ReadonlyMap<string, number>;
  readonly monotonicMs: () => number;
  readonly leastMs?: number;
}

interface Sample {
  readonly atMs: number;
  readonly counts: ReadonlyMap<string, number>;
}

/** What was counted longer ago says little about now. */
const oldestMs = 60_000;

/** Nothing is counted while nobody asks. */
export function createRateMeter({ read, monotonicMs, leastMs = 1_000 }: RateMeterOptions): RateMeter {
  const take = (): Sample => ({ atMs: monotonicMs(), counts: read() });
  let last: Sample | undefined;
  let running: Promise<Rates> | undefined;
  const measure = async (): Promise<Rates> => {
    const before = last !== undefined && monotonicMs() - last.atMs < oldestMs ? last : take();
    const leftMs = before.atMs + leastMs - monotonicMs();
    if (leftMs > 0) await wait(leftMs);
    const now = take();
    last = now;
    return growth(before, now);
  };
  return {
    rates() {
      running ??= measure().finally(() => {
        running = undefined;
      });
      return running;
    },
  };
}

function growth(before: Sample, now: Sample): Rates {
  const windowMs = Math.max(1, now.atMs - before.atMs);
  const perSecond = [...now.counts].flatMap(([name, count]) => {
    const earlier = before.counts.get(name);
    // Less than before: it is another one of that name.
    return earlier === undefined ? [] : [[name, (Math.max(0, count - earlier) * 1000) / windowMs] as const];
  });
  return { windowMs, perSecond: new Map(perSecond) };
}
