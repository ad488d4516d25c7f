/**
 * Signals that something may be another in; looks at it out: soon after the first signal, one at a time. A thousand proxies that
 * refuse the same say so one after the other, and all that they refuse is looked at each time.
 */
export interface LooksSoon {
  signal(): void;
  stop(): void;
}

export interface LooksSoonOptions {
  /** From a signal until the look, at least. */
  readonly waitMs: number;
  readonly look: () => Promise<void>;
  readonly onFault: (error: unknown) => void;
}

/** Of all time, looking takes no more than one part of so many. */
const share = 10;

export function createLooksSoon({ waitMs, look, onFault }: LooksSoonOptions): LooksSoon {
  let timer: NodeJS.Timeout | undefined;
  let isLooking = false;
  let isDue = false;
  let isStopped = false;
  let restMs = 0;

  async function run(): Promise<void> {
    timer = undefined;
    isLooking = true;
    isDue = false;
    const beganMs = performance.now();
    await look().catch(onFault);
    restMs = share * (performance.now() - beganMs);
    isLooking = false;
    if (isDue) signal();
  }

  function signal(): void {
    isDue = true;
    if (isLooking || isStopped) return;
    timer ??= setTimeout(() => void run(), Math.max(waitMs, restMs)).unref();
  }

  return {
    signal,
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
