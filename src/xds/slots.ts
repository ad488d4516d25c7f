/** A bound on pushes at the same time: those who ask wait in line, streams that have no config yet before the others. */

export interface Slots {
  /** Resolves with the function that gives the slot back; rejects when aborted while waiting. */
  acquire(options: { urgent: boolean; signal: AbortSignal }): Promise<() => void>;
}

type Grant = () => void;

export function createSlots(count: number): Slots {
  let free = count;
  const urgent = new Set<Grant>();
  const normal = new Set<Grant>();

  function release(): void {
    const line = urgent.size > 0 ? urgent : normal;
    const [next] = line;
    if (!next) {
      free++;
      return;
    }
    line.delete(next);
    next();
  }

  const once = (): (() => void) => {
    let held = true;
    return () => {
      if (held) release();
      held = false;
    };
  };

  return {
    acquire(options) {
      if (free > 0) {
        free--;
        return Promise.resolve(once());
      }
      return new Promise((resolve, reject) => {
        const line = options.urgent ? urgent : normal;
        const stop = (): void => {
          line.delete(grant);
          reject(options.signal.reason);
        };
        const grant = (): void => {
          options.signal.removeEventListener("abort", stop);
          resolve(once());
        };
        if (options.signal.aborted) return reject(options.signal.reason);
        options.signal.addEventListener("abort", stop, { once: true });
        line.add(grant);
      });
    },
  };
}
