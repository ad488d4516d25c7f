/** Work in steps in; its outcome out, while streams and probes are served between the steps. */
import { createRest } from "../lib/index.ts";
import { createSlices, type SlicesOptions } from "./slices.ts";

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

/** As `politely`, for short work of which there is much: all of it shares the slice of a turn, be it one after the other. */
export function createPolite(nowMs: SlicesOptions["nowMs"] = () => performance.now()): typeof politely {
  const slices = createSlices({ sliceMs, nowMs });
  return (steps) =>
    new Promise((resolve, reject) => {
      function* told(): Generator<undefined, void> {
        resolve(yield* steps);
      }
      slices.run(told())?.catch(reject);
    });
}
