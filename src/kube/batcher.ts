/** Single changes in, few steps of the graph out: what comes within a few milliseconds is one change. */
import type { Graph } from "../collections/index.ts";
import type { QueueMeter } from "../lib/index.ts";

export interface Batcher {
  add(change: () => void): void;
  /** Applies what is waiting now. */
  flush(): void;
}

/** Far below the debounce of a push, and long enough for a burst of events that arrive one by one. */
const windowMs = 5;

/** The meter is told of each step: how long the first of its changes has waited, and how long all of them took. */
export function createBatcher(graph: Graph, meter?: QueueMeter): Batcher {
  let waiting: (() => void)[] = [];
  let scheduled: NodeJS.Timeout | undefined;
  let sinceMs = 0;
  meter?.follow(() => waiting.length);
  const flush = (): void => {
    clearTimeout(scheduled);
    scheduled = undefined;
    const changes = waiting;
    waiting = [];
    if (changes.length === 0) return;
    const startMs = performance.now();
    graph.change(() => {
      for (const change of changes) change();
    });
    meter?.waited(startMs - sinceMs);
    meter?.worked(performance.now() - startMs);
  };
  return {
    add(change) {
      if (waiting.length === 0) sinceMs = performance.now();
      waiting.push(change);
      scheduled ??= setTimeout(flush, windowMs);
    },
    flush,
  };
}
