/** Single changes in, few steps of the graph out: what comes within a few milliseconds is one change. */
import type { Graph } from "../collections/index.ts";

export interface Batcher {
  add(change: () => void): void;
  /** Applies what is waiting now. */
  flush(): void;
}

/** Far below the debounce of a push, and long enough for a burst of events that arrive one by one. */
const windowMs = 5;

export function createBatcher(graph: Graph): Batcher {
  let waiting: (() => void)[] = [];
  let scheduled: NodeJS.Timeout | undefined;
  const flush = (): void => {
    clearTimeout(scheduled);
    scheduled = undefined;
    const changes = waiting;
    waiting = [];
    if (changes.length === 0) return;
    graph.change(() => {
      for (const change of changes) change();
    });
  };
  return {
    add(change) {
      waiting.push(change);
      scheduled ??= setTimeout(flush, windowMs);
    },
    flush,
  };
}
