/** Keys of objects that may need work in; one piece of work at a time, again after a failure, out. */
import { createBackoff, FairleadError, type Logger, wait } from "../lib/index.ts";

export interface Reconciler {
  /** Asks for work on this key; asking often costs one piece of work. */
  add(key: string): void;
  /** Resolves when nothing is left to do. */
  idle(): Promise<void>;
}

export interface ReconcilerOptions {
  readonly name: string;
  readonly log: Logger;
  readonly random: () => number;
  readonly signal: AbortSignal;
  readonly reconcile: (key: string) => Promise<void>;
}

export function createReconciler(options: ReconcilerOptions): Reconciler {
  const pending = new Set<string>();
  const waiters = new Set<() => void>();
  const backoff = createBackoff({ minMs: 50, maxMs: 5_000, random: options.random });
  let working = false;
  let failures = 0;

  const work = async (): Promise<void> => {
    working = true;
    while (pending.size > 0 && !options.signal.aborted) {
      const [key = ""] = pending;
      pending.delete(key);
      try {
        await options.reconcile(key);
        backoff.reset();
        failures = 0;
      } catch (thrown) {
        if (options.signal.aborted) break;
        const error = FairleadError.from(thrown);
        if (!isRace(error, ++failures)) options.log.warn(`${options.name}: ${key}: ${error.message}`);
        pending.add(key);
        await wait(backoff.nextMs(), options.signal).catch(() => {});
      }
    }
    working = false;
    for (const waiter of waiters) waiter();
    waiters.clear();
  };

  return {
    add(key) {
      pending.add(key);
      if (!working) void work();
    },
    idle: () => (working ? new Promise((resolve) => waiters.add(resolve)) : Promise.resolve()),
  };
}

/** Somebody else wrote first, or what we see is older than our own write: look again, and speak up only if it stays so. */
function isRace(error: FairleadError, failures: number): boolean {
  return error.code === "conflict" || (error.code === "already-exists" && failures <= 5);
}
