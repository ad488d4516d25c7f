/** Being told to end in; a signal, and work that gives way to it, out: what a run has started must not outlive it. */
import { setTimeout as sleep } from "node:timers/promises";

/** As shells tell an end by Ctrl-C. */
export const stoppedStatus = 130;

/** Ends this process with the status of the work; told to end, as soon as the work has given way and cleaned up. */
export async function exitAfter(work: (stop: AbortSignal) => Promise<number>): Promise<never> {
  const stop = untilToldToEnd();
  const status = await work(stop).catch((error: unknown) => {
    if (!stop.aborted) throw error;
    process.stderr.write(`${String(stop.reason)}\n`);
    return stoppedStatus;
  });
  // What gave way may still wait for something.
  process.exit(status);
}

/** Stays deaf to a second signal: a terminal sends one to each process, and npm passes on its own. */
function untilToldToEnd(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => stop.abort(new Error(`stopped by ${signal}`)));
  return stop.signal;
}

/** Rejects `graceMs` after the stop where the work has not ended by itself; then whoever waits cleans up under it. */
export function unlessStopped<T>(work: Promise<T>, stop: AbortSignal | undefined, graceMs = 0): Promise<T> {
  if (!stop) return work;
  const stopped = Promise.withResolvers<never>();
  const onStop = async (): Promise<void> => {
    await sleep(graceMs);
    stopped.reject(stop.reason);
  };
  if (stop.aborted) void onStop();
  else stop.addEventListener("abort", onStop, { once: true });
  return Promise.race([work, stopped.promise]).finally(() => stop.removeEventListener("abort", onStop));
}
