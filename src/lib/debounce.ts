/** Many small signals in, few runs out: runs when it has been quiet for a while, at the latest after a maximum. */

export interface Debounce {
  signal(): void;
  stop(): void;
}

export interface DebounceOptions {
  readonly quietMs: number;
  readonly maxMs: number;
  /** Told how long it is since the first signal. */
  readonly run: (waitedMs: number) => void;
}

export function createDebounce({ quietMs, maxMs, run }: DebounceOptions): Debounce {
  let firstMs = 0;
  let lastMs = 0;
  let timer: NodeJS.Timeout | undefined;
  // One timer that looks again: a change signals once for each class of proxies.
  const look = (): void => {
    const nowMs = performance.now();
    const leftMs = Math.min(lastMs + quietMs, firstMs + maxMs) - nowMs;
    timer = leftMs > 0 ? setTimeout(look, Math.ceil(leftMs)) : undefined;
    if (!timer) run(nowMs - firstMs);
  };
  return {
    signal() {
      lastMs = performance.now();
      if (timer) return;
      firstMs = lastMs;
      timer = setTimeout(look, Math.min(quietMs, maxMs));
    },
    stop() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
