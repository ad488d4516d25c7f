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

export function createDebounce(options: DebounceOptions): Debounce {
  let first = 0;
  let quiet: NodeJS.Timeout | undefined;
  let latest: NodeJS.Timeout | undefined;
  const fire = (): void => {
    clearTimeout(quiet);
    clearTimeout(latest);
    quiet = undefined;
    latest = undefined;
    options.run(performance.now() - first);
  };
  return {
    signal() {
      if (latest === undefined) first = performance.now();
      clearTimeout(quiet);
      quiet = setTimeout(fire, options.quietMs);
      latest ??= setTimeout(fire, options.maxMs);
    },
    stop() {
      clearTimeout(quiet);
      clearTimeout(latest);
      quiet = undefined;
      latest = undefined;
    },
  };
}
