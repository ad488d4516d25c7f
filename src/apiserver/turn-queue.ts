/** Small pieces of work of many in, all of them done in turn out, without holding the event loop for long. */
export interface TurnQueue {
  /** `run` does a little and says whether there is more to do. Asking twice before it ran is asking once. */
  add(run: () => boolean): void;
  remove(run: () => boolean): void;
}

const turnMs = 10;

export function createTurnQueue(begin: () => void): TurnQueue {
  const waiting = new Set<() => boolean>();
  let scheduled = false;
  const schedule = (): void => {
    if (scheduled || waiting.size === 0) return;
    scheduled = true;
    setImmediate(turn);
  };
  const turn = (): void => {
    scheduled = false;
    begin();
    const end = performance.now() + turnMs;
    for (const run of waiting) {
      waiting.delete(run);
      // Who has more to do goes to the end of the queue.
      if (run()) waiting.add(run);
      if (performance.now() > end) break;
    }
    schedule();
  };
  return {
    add(run) {
      waiting.add(run);
      schedule();
    },
    remove: (run) => void waiting.delete(run),
  };
}
