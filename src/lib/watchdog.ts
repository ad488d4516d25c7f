/** Work that begins, by name, in; whoever kept everybody else waiting out: in the log, and counted. */
import type { Logger } from "./log.ts";

export interface Watchdog {
  /** From here to the end of this turn of the event loop, or to the next call, whatever runs is this. */
  begin(what: string): void;
  /** How often the event loop was held for too long. */
  readonly longTurns: number;
}

/** Nobody notices less. */
const limitMs = 100;

/** Where it is far less than the time, the machine was busy with something else. */
function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** `onLong` is told of each, beside the log. */
export function createWatchdog(log: Logger, onLong: () => void = () => {}): Watchdog {
  let current: { readonly what: string; readonly since: number; readonly cpuMs: number } | undefined;
  let scheduled = false;
  let longTurns = 0;
  const settle = (now: number): void => {
    if (!current || now - current.since <= limitMs) return;
    longTurns++;
    onLong();
    const cpuMs = Math.round(threadCpuMs() - current.cpuMs);
    log.warn(`the event loop was held for ${Math.round(now - current.since)} ms by ${current.what}`, { cpuMs });
  };
  const endTurn = (): void => {
    scheduled = false;
    settle(performance.now());
    current = undefined;
  };
  return {
    begin(what) {
      const now = performance.now();
      settle(now);
      current = { what, since: now, cpuMs: threadCpuMs() };
      if (scheduled) return;
      scheduled = true;
      setImmediate(endTurn);
    },
    get longTurns() {
      return longTurns;
    },
  };
}
