/** Work in steps in; its outcome out, while streams and probes are served between the steps. */
import { createRest } from "../lib/index.ts";

/** How long steps follow each other before the event loop has its turn. */
const sliceMs = 3;

export async function politely<T>(steps: Generator<undefined, T>): Promise<T> {
  const rest = createRest(sliceMs);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    const pause = rest();
    if (pause) await pause;
  }
}
