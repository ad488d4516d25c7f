/**
 * Work that begins, by name, in; whoever kept everybody else waiting out: in the log, and counted. What counts is the
 * processor time that it took. Where a turn was long because somebody else had the processor, nothing here is at fault,
 * and that is said instead.
 */
import type { Logger } from "./log.ts";

export interface Watchdog {
  /** From here to the end of this turn of the event loop, or to the next call, whatever runs is this. */
  begin(what: string | (() => string)): void;
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

/** To ask for processor time is a call of the system: for what follows at once, what was answered last is near enough. */
const nearMs = 10;
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
  /** Of what runs; plain variables, as a fleet begins thousands of times a second. */
  let current: string | (() => string) | undefined;
  let [sinceMs, askedMs, askedCpuMs] = [0, 0, 0];
  let scheduled = false;
  let longTurns = 0;
  let silentUntilMs = Number.NEGATIVE_INFINITY;

  const settle = (nowMs: number): void => {
    if (current === undefined || nowMs - sinceMs <= limitMs) return;
    const what = typeof current === "string" ? current : current();
    const heldMs = Math.round(nowMs - sinceMs);
    const cpuMs = Math.round(clock.cpuMs() - askedCpuMs);
    if (cpuMs > limitMs) {
      longTurns++;
      onLong();
      log.warn(`the event loop was held for ${heldMs} ms by ${what}`, { cpuMs });
    } else if (heldMs - cpuMs > limitMs && nowMs >= silentUntilMs) {
      silentUntilMs = nowMs + saidEveryMs;
      log.info(
        `the machine is busy, or its disk slow: ${what} took ${heldMs} ms with ${cpuMs} ms of processor; ` +
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
      const nowMs = clock.nowMs();
      settle(nowMs);
      if (current === undefined || nowMs - askedMs > nearMs) {
        askedMs = nowMs;
        askedCpuMs = clock.cpuMs();
      }
      current = what;
      sinceMs = nowMs;
      if (scheduled) return;
      scheduled = true;
      setImmediate(endTurn);
    },
    get longTurns() {
      return longTurns;
    },
  };
}
