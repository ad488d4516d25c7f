/** What moves, and time that was spent, in; whether work that nobody waits for may be begun out: at rest, and rarely. */

export interface CalmTimes {
  /** How long nothing may have moved, */
  readonly restMs: number;
  /** and how long such a moment is waited for: some meshes never rest. */
  readonly patienceMs: number;
}

export interface Calm {
  /** Asked often, with a value that differs whenever something has moved, and since when the work is to be done. */
  mayBegin(moves: string, sinceMs: number, nowMs: number): boolean;
  spent(ms: number, nowMs: number): void;
}

/** Of the time that passes, one part in so many may be spent; */
const share = 50;
/** but what took long on a busy machine, most of it waiting, does not keep the rest for minutes. */
const longestPauseMs = 500;

export function createCalm({ restMs, patienceMs }: CalmTimes): Calm {
  let [lastMoves, movedMs, nextMs] = ["", 0, 0];
  return {
    mayBegin(moves, sinceMs, nowMs) {
      if (moves !== lastMoves) [lastMoves, movedMs] = [moves, nowMs];
      return nowMs >= nextMs && (nowMs - movedMs >= restMs || nowMs - sinceMs >= patienceMs);
    },
    spent(ms, nowMs) {
      nextMs = nowMs + Math.min(ms * share, longestPauseMs);
    },
  };
}
