/** Work in steps in; its outcome out, while streams and probes are served between the steps. */
import { setImmediate as nextTurn } from "node:timers/promises";

/** How long steps follow each other before the event loop has its turn. */
const sliceMs = 3;

export async function politely<T>(steps: Generator<undefined, T>): Promise<T> {
  for (let endMs = performance.now() + sliceMs; ; ) {
    const { done, value } = steps.next();
    if (done) return value;
    if (performance.now() < endMs) continue;
    await nextTurn();
    endMs = performance.now() + sliceMs;
  }
}
