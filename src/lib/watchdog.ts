/**
 * Work that begins, by name, in; whoever kept everybody else waiting out: in the log, and counted. What counts is the
 * processor time that it took. Where a turn was long because somebody else had the processor, nothing here is at fault,
 * and that is said instead.
 */
import type { Logger } from "./log.ts";

export interface Watchdog {
  /** From here to the end of this turn of the event loop, or to the next call, whatever runs is this. */
  begin(what: string): void;
  /** How often the event loop was held for too long. */
  readonly longTurns: number;
}

export interface WatchdogOptions {
  /** Told of each long turn, beside the log. */
  readonly onLong?: () => void;
  readonly clock?: WatchdogClock;
}

export interface WatchdogClock {
  nowMs(): number;
  /** Processor time that this thread has had. */
  cpuMs(): number;
}

/** Nobody notices less. */
const limitMs = 100;
/** A busy machine delays turn after turn: it is said so often at most. */
const saidEveryMs = 60_000;

const threadClock: WatchdogClock = {
  nowMs: () => performance.now(),
  cpuMs() {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  },
};

export function createWatchdog(log: Logger, options: WatchdogOptions = {}): Watchdog {
  const { onLong = () => {}, clock = threadClock } = options;
  let current: { readonly what: string; readonly sinceMs: number; readonly cpuMs: number } | undefined;
  let scheduled = false;
  let longTurns = 0;
  let silentUntilMs = Number.NEGATIVE_INFINITY;

  const settle = (nowMs: number): void => {
    if (!current || nowMs - current.sinceMs <= limitMs) return;
    const heldMs = Math.round(nowMs - current.sinceMs);
    const cpuMs = Math.round(clock.cpuMs() - current.cpuMs);
    if (cpuMs > limitMs) {
      longTurns++;
      onLong();
      log.warn(`the event loop was held for ${heldMs} ms by ${current.what}`, { cpuMs });
    } else if (heldMs - cpuMs > limitMs && nowMs >= silentUntilMs) {
      silentUntilMs = nowMs + saidEveryMs;
      log.info(
        `the machine is busy, or its disk slow: ${current.what} took ${heldMs} ms with ${cpuMs} ms of processor; ` +
          "further ones like it are not told for a minute",
      );
    }
  };
  const endTurn = (): void => {
    scheduled = false;
    settle(clock.nowMs());
    current = undefined;
  };
  return {
    begin(what) {
      const sinceMs = clock.nowMs();
      settle(sinceMs);
      current = { what, sinceMs, cpuMs: clock.cpuMs() };
      if (scheduled) return;
      scheduled = true;
      setImmediate(endTurn);
    },
    get longTurns() {
      return longTurns;
    },
  };
}
