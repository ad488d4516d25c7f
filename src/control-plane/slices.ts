/**
 * Long work in small steps in; done in slices out, first come first served. Whoever comes at the same time shares the
 * slice of a turn, so that a herd takes no more of the event loop than one.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Steps } from "../render/index.ts";

export interface Slices {
  /** Begins at once where the turn has time left; undefined where that was enough for all of it. */
  run(steps: Steps): Promise<void> | undefined;
  /** Before work that is done outside: undefined where the turn has time left, else the next turn. */
  rest(): Promise<void> | undefined;
}

export interface SlicesOptions {
  /** How long the event loop may be kept from everything else in a turn. */
  readonly sliceMs: number;
  readonly nowMs: () => number;
}

interface Work {
  readonly steps: Steps;
  readonly done: PromiseWithResolvers<void>;
}

export function createSlices({ sliceMs, nowMs }: SlicesOptions): Slices {
  const waiting: Work[] = [];
  /** When this turn's slice is over; undefined where none has begun. */
  let untilMs: number | undefined;

  function begin(): number {
    if (untilMs === undefined) setImmediate(turn);
    untilMs ??= nowMs() + sliceMs;
    return untilMs;
  }

  function isDone(steps: Steps): boolean {
    const endMs = begin();
    while (nowMs() < endMs) if (steps.next().done) return true;
    return false;
  }

  function turn(): void {
    untilMs = undefined;
    let at = 0;
    for (let work = waiting[at]; work && isSettled(work); work = waiting[at]) at++;
    waiting.splice(0, at);
  }

  function isSettled({ steps, done }: Work): boolean {
    try {
      if (!isDone(steps)) return false;
      done.resolve();
    } catch (error) {
      done.reject(error);
    }
    return true;
  }

  return {
    run(steps) {
      if (waiting.length === 0 && isDone(steps)) return undefined;
      const done = Promise.withResolvers<void>();
      waiting.push({ steps, done });
      return done.promise;
    },
    rest: () => (nowMs() < begin() ? undefined : nextTurn().then(() => void begin())),
  };
}
