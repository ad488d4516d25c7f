/** Many small signals in, few runs out: runs when it has been quiet for a while, at the latest after a maximum. */

export interface Debounce {
  signal(): void;
  stop(): void;
}

export function createDebounce(options: { quietMs: number; maxMs: number; run: () => void }): Debounce {
  let quiet: NodeJS.Timeout | undefined;
  let latest: NodeJS.Timeout | undefined;
  const fire = (): void => {
    clearTimeout(quiet);
    clearTimeout(latest);
    quiet = undefined;
    latest = undefined;
    options.run();
  };
  return {
    signal() {
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
