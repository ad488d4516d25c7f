/** Keys that are due in; one attempt at a time, each key tried again with growing pauses until it succeeds, out. */
import { createBackoff, FairleadError, type Logger, type QueueMeter, wait } from "../../lib/index.ts";

/** A mesh of thousands of objects that has a new leader is not worth a flood: nobody waits for these. */
export const statusWritesPerSecond = 50;

export interface KeyedWorkOptions {
  /** Names the work in log lines. */
  readonly name: string;
  /** Awaits `turn` before it writes, where writes are limited. */
  readonly work: (key: string, turn: () => Promise<void>) => Promise<void>;
  readonly log: Logger;
  readonly random: () => number;
  readonly signal: AbortSignal;
  readonly minBackoffMs?: number;
  readonly meter?: QueueMeter | undefined;
  /** Turns that are given within a second; without it as many as are asked for. */
  readonly perSecond?: number;
}

export interface KeyedWork {
  /** May be called from inside a change of the graph: the work starts after it. */
  due(key: string): void;
}

export function runKeyedWork(options: KeyedWorkOptions): KeyedWork {
  const { signal, log, meter } = options;
  /** With the time since when. */
  const pending = new Map<string, number>();
  const backoffs = new Map<string, ReturnType<typeof createBackoff>>();
  const timers = new Set<NodeJS.Timeout>();
  /** What each key failed with last: the same again is not told again. */
  const told = new Map<string, string>();
  let working = false;

  const retry = (key: string, error: unknown): void => {
    if (signal.aborted) return;
    const { code, message } = FairleadError.from(error);
    // Somebody else wrote first, or the object has gone: the watch tells what holds now.
    if (code !== "conflict" && code !== "not-found" && told.get(key) !== message) {
      told.set(key, message);
      log.warn(`${options.name} ${key}: ${message}`);
    }
    const backoff =
      backoffs.get(key) ?? createBackoff({ minMs: options.minBackoffMs ?? 200, maxMs: 30_000, random: options.random });
    backoffs.set(key, backoff);
    const timer = setTimeout(() => {
      timers.delete(timer);
      due(key);
    }, backoff.nextMs());
    timers.add(timer.unref());
  };
  /** Given in the second that began then. */
  let [given, since] = [0, Number.NEGATIVE_INFINITY];
  const turn = async (): Promise<void> => {
    if (options.perSecond === undefined) return;
    const now = performance.now();
    if (now - since >= 1000) [given, since] = [0, now];
    if (given++ < options.perSecond) return;
    await wait(since + 1000 - now, signal);
    [given, since] = [1, performance.now()];
  };
  const run = async (): Promise<void> => {
    await Promise.resolve();
    for (const [key, sinceMs] of pending) {
      if (signal.aborted) break;
      pending.delete(key);
      const startMs = performance.now();
      meter?.waited(startMs - sinceMs);
      await options.work(key, turn).then(
        () => {
          backoffs.delete(key);
          told.delete(key);
        },
        (error: unknown) => retry(key, error),
      );
      meter?.worked(performance.now() - startMs);
    }
    working = false;
  };
  const due = (key: string): void => {
    if (signal.aborted) return;
    if (!pending.has(key)) pending.set(key, performance.now());
    if (working) return;
    working = true;
    void run();
  };
  // What a leader leaves behind is another's.
  meter?.follow(() => (signal.aborted ? 0 : pending.size));
  signal.addEventListener(
    "abort",
    () => {
      for (const timer of timers) clearTimeout(timer);
    },
    { once: true },
  );
  return { due };
}
