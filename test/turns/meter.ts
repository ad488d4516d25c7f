/** A thread in; the processor time of its longest turn of the event loop out, while somebody wants to know. */
import { threadCpuMs } from "../cpu-time.ts";

/** Shared between threads: whether to measure, and the longest turn so far in milliseconds. */
export type Meter = Float64Array<SharedArrayBuffer>;

const [on, longest] = [0, 1];
/** How soon a thread sees that it is to measure. */
const lookMs = 2;

export function createMeter(): Meter {
  return new Float64Array(new SharedArrayBuffer(16));
}

/** Turns follow each other without rest while it measures, so that each is seen by itself. */
export function measureTurns(meter: Meter): void {
  let last = threadCpuMs();
  const tick = (): void => {
    const now = threadCpuMs();
    meter[longest] = Math.max(meter[longest] ?? 0, now - last);
    if (meter[on] === 1) setImmediate(tick);
    else look();
    last = threadCpuMs();
  };
  const look = (): void => void setTimeout(() => (meter[on] === 1 ? begin() : look()), lookMs);
  const begin = (): void => {
    last = threadCpuMs();
    setImmediate(tick);
  };
  look();
}

/** Runs `work` and tells the longest turn that the thread had meanwhile, and shortly after. */
export async function longestTurnMs(meter: Meter, work: () => Promise<unknown>): Promise<number> {
  meter[longest] = 0;
  meter[on] = 1;
  await settle(4 * lookMs);
  await work();
  await settle(4 * lookMs);
  meter[on] = 0;
  return meter[longest] ?? 0;
}

const settle = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
