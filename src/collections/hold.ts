/** Work in many small steps in; what they looked up is kept until the work is over, though nothing reads it yet. */
import type { Computation } from "./cells.ts";
import type { Recorder } from "./recorder.ts";

export interface Hold {
  run<V>(work: () => V): V;
  release(): void;
}

export function createHold(recorder: Recorder): Hold {
  const holder: Computation = {
    state: "clean",
    running: false,
    rank: 0,
    reads: [],
    notes: undefined,
    invalidated() {},
  };
  return {
    run: (work) => recorder.extend(holder, work),
    release: () => recorder.forget(holder),
  };
}
