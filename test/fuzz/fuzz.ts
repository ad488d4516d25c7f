/** An order in; the outcome of every target out, and where it hangs if it does. */
import { Worker } from "node:worker_threads";
import type { Outcome } from "./run-targets.ts";
import type { Order } from "./worker.ts";

export interface FuzzReport {
  readonly outcomes: readonly Outcome[];
  /** Number of the target and of the run that did not end in time. */
  readonly hang: { readonly target: number; readonly run: number } | undefined;
}

/** No input that fits into a request may take so long, however busy the machine: twenty seconds were too few on one. */
const hangMs = 60_000;

export function fuzz(
  order: Omit<Order, "place">,
  onOutcome: (outcome: Outcome) => void = () => {},
): Promise<FuzzReport> {
  const place = new Int32Array(new SharedArrayBuffer(8));
  const outcomes: Outcome[] = [];
  const worker = new Worker(new URL("./worker.ts", import.meta.url), { workerData: { ...order, place } });
  return new Promise((resolve, reject) => {
    let [last, since] = ["", performance.now()];
    const watch = setInterval(() => {
      const now = `${outcomes.length} ${Atomics.load(place, 0)} ${Atomics.load(place, 1)}`;
      if (now !== last) [last, since] = [now, performance.now()];
      else if (performance.now() - since > hangMs)
        finish({ target: Atomics.load(place, 0), run: Atomics.load(place, 1) });
    }, 500);
    const finish = (hang: FuzzReport["hang"]): void => {
      clearInterval(watch);
      void worker.terminate();
      resolve({ outcomes, hang });
    };
    worker.on("message", (message: { outcome?: Outcome; done?: boolean }) => {
      if (message.outcome) {
        outcomes.push(message.outcome);
        onOutcome(message.outcome);
      }
      if (message.done) finish(undefined);
    });
    worker.on("error", (error) => {
      clearInterval(watch);
      reject(error);
    });
  });
}
