/** Long work in; where it may rest, so that others have their turn every few milliseconds, out. */
import { setImmediate as nextTurn } from "node:timers/promises";

/** To be awaited between the steps of the work. */
export type Rest = () => Promise<void> | undefined;

export function createRest(turnMs = 10): Rest {
  let endMs = performance.now() + turnMs;
  return () => {
    if (performance.now() < endMs) return undefined;
    return nextTurn().then(() => {
      endMs = performance.now() + turnMs;
    });
  };
}
