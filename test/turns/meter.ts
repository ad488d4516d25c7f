/** The own event loop in; the processor time of its longest turn out, and how much of that was a collection of garbage. */
import { PerformanceObserver } from "node:perf_hooks";
import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";
import { threadCpuMs } from "../cpu-time.ts";

export interface LongestTurn {
  readonly ms: number;
  /** As the clock has it: where others want the processor, it may be longer than the turn. */
  readonly garbageMs: number;
}

export interface Meter {
  begin(): void;
  /** The longest turn since `begin`, and shortly after now. */
  end(): Promise<LongestTurn>;
}

/** What goes on behind an answer counts as well. */
const restMs = 8;

/** Turns follow each other without rest while it measures, so that each is seen by itself. */
export function createMeter(): Meter {
  let isOn = false;
  let last = { cpu: 0, at: 0 };
  let longest = { ms: 0, from: 0, to: 0 };
  const pauses: { readonly from: number; readonly ms: number }[] = [];
  const observer = new PerformanceObserver((list) => {
    for (const { startTime: from, duration: ms } of list.getEntries()) pauses.push({ from, ms });
  });
  const now = (): typeof last => ({ cpu: threadCpuMs(), at: performance.now() });
  const tick = (): void => {
    if (!isOn) return;
    const ms = threadCpuMs() - last.cpu;
    if (ms > longest.ms) longest = { ms, from: last.at, to: performance.now() };
    last = now();
    setImmediate(tick);
  };
  return {
    begin() {
      pauses.length = 0;
      observer.observe({ entryTypes: ["gc"] });
      longest = { ms: 0, from: 0, to: 0 };
      isOn = true;
      last = now();
      setImmediate(tick);
    },
    async end() {
      await wait(restMs);
      isOn = false;
      // Collections are told of in a turn of their own.
      await nextTurn();
      observer.disconnect();
      const { ms, from, to } = longest;
      const within = pauses.filter((pause) => pause.from >= from && pause.from <= to);
      return { ms, garbageMs: within.reduce((sum, pause) => sum + pause.ms, 0) };
    },
  };
}
