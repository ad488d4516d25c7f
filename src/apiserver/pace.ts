/** Long work in, short turns out: between its steps a request lets others in once it has had its turn. */
import { setImmediate } from "node:timers/promises";
import type { Watchdog } from "../lib/index.ts";

export interface Pace {
  /** Something was waited for: a new turn begins here. */
  resume(): void;
  /** To be awaited between the steps of long work. */
  pause(): Promise<void>;
  /** The same for work that says itself where it may be interrupted. */
  run<T>(work: Generator<void, T>): Promise<T>;
}

/** For those who have nobody to let in. */
export const unpaced: Pace = {
  resume() {},
  async pause() {},
  async run(work) {
    for (;;) {
      const step = work.next();
      if (step.done) return step.value;
    }
  },
};

/** Long enough that ordinary requests never wait, short enough that nobody notices others who do. */
const turnMs = 10;

/** `what` is the name of the work, should it take too long. */
export function createPace(watchdog: Watchdog, what: string): Pace {
  let since = 0;
  const resume = (): void => {
    since = performance.now();
    watchdog.begin(what);
  };
  resume();
  const isOver = (): boolean => performance.now() - since >= turnMs;
  const pause = async (): Promise<void> => {
    if (!isOver()) return;
    await setImmediate();
    resume();
  };
  return {
    resume,
    pause,
    async run(work) {
      for (;;) {
        const step = work.next();
        if (step.done) return step.value;
        if (isOver()) await pause();
      }
    },
  };
}
