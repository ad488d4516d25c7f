/** Waiting times that grow, with jitter; clock and randomness are handed in. */

export interface Backoff {
  /** The next waiting time; longer with each call until `reset`. */
  nextMs(): number;
  reset(): void;
}

export function createBackoff(options: { minMs: number; maxMs: number; random: () => number }): Backoff {
  let attempt = 0;
  return {
    nextMs() {
      const base = Math.min(options.maxMs, options.minMs * 2 ** attempt);
      attempt++;
      return base / 2 + (base / 2) * options.random();
    },
    reset() {
      attempt = 0;
    },
  };
}

/** Resolves after the time, rejects with the signal's reason when aborted. */
export function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
