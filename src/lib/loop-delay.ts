/** The process's own event loop in; how late it was since it was last asked out. */
import { createHistogram } from "node:perf_hooks";

export interface LoopDelay {
  /** How often it was looked since it was last asked: of less than a hundred the 99th of a hundred is the worst. */
  readonly samples: number;
  /** In seconds by quantile, and begins anew. */
  take(): ReadonlyMap<number, number>;
  stop(): void;
}

/**
 * A timer tells by how much it was late. To wake a process that has nothing to do fifty times a second was most of what an
 * idle one cost, so it is done where there is work; else a turn that holds the loop up is seen for that much less.
 */
const busyTickMs = 20;
const idleTickMs = 100;
/** The share of its time that a busy loop works. */
const busyShare = 0.25;

const quantiles = [0.5, 0.99, 1];

export function measureLoopDelay(): LoopDelay {
  const delays = createHistogram();
  let usage = performance.eventLoopUtilization();
  let tickMs = idleTickMs;
  let dueMs = performance.now() + tickMs;
  let timer = setTimeout(tick, tickMs).unref();

  function tick(): void {
    const nowMs = performance.now();
    delays.record(Math.max(1, Math.round((nowMs - dueMs) * 1e6)));
    const now = performance.eventLoopUtilization();
    const isBusy = performance.eventLoopUtilization(now, usage).utilization > busyShare;
    usage = now;
    const nextMs = isBusy ? busyTickMs : idleTickMs;
    timer = nextMs === tickMs ? timer.refresh() : setTimeout(tick, nextMs).unref();
    tickMs = nextMs;
    dueMs = nowMs + tickMs;
  }

  const seconds = (quantile: number): number => (delays.count === 0 ? 0 : delays.percentile(quantile * 100) / 1e9);
  return {
    get samples() {
      return delays.count;
    },
    take() {
      const found = new Map(quantiles.map((quantile) => [quantile, seconds(quantile)]));
      delays.reset();
      return found;
    },
    stop: () => clearTimeout(timer),
  };
}
