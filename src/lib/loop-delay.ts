/** The process's own event loop in; how late it was since it was last asked out. */
import { monitorEventLoopDelay } from "node:perf_hooks";

export interface LoopDelay {
  /** In seconds by quantile, and begins anew. */
  take(): ReadonlyMap<number, number>;
  stop(): void;
}

/** Node measures from one tick to the next, so that its idle delay is the tick. */
const tickMs = 20;
const quantiles = [0.5, 0.99, 1];

export function measureLoopDelay(): LoopDelay {
  const delay = monitorEventLoopDelay({ resolution: tickMs });
  delay.enable();
  const seconds = (quantile: number): number =>
    delay.count === 0 ? 0 : Math.max(0, delay.percentile(quantile * 100) / 1e9 - tickMs / 1000);
  return {
    take() {
      const found = new Map(quantiles.map((quantile) => [quantile, seconds(quantile)]));
      delay.reset();
      return found;
    },
    stop: () => void delay.disable(),
  };
}
