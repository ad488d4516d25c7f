/** Work of many in; all of it done out, so much at once, and so little begun in one turn of the event loop. */
export interface Gate {
  /** Begins when there is room, in the order of asking. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

export interface GateOptions {
  readonly atOnce: number;
  readonly perTurn: number;
}

export function createGate({ atOnce, perTurn }: GateOptions): Gate {
  const waiting: (() => void)[] = [];
  let running = 0;
  let begun = 0;
  let scheduled = false;

  const nextTurn = (): void => {
    scheduled = false;
    begun = 0;
    pump();
  };
  const pump = (): void => {
    while (running < atOnce && begun < perTurn) {
      const begin = waiting.shift();
      if (!begin) break;
      running++;
      begun++;
      begin();
    }
    if (begun === 0 || scheduled) return;
    scheduled = true;
    setImmediate(nextTurn);
  };
  return {
    async run(work) {
      const turn = Promise.withResolvers<void>();
      waiting.push(turn.resolve);
      pump();
      await turn.promise;
      try {
        return await work();
      } finally {
        running--;
        pump();
      }
    },
  };
}
