/** Single changes in, one step of the graph per turn of the event loop out: a burst of events is one change. */
import type { Graph } from "../collections/index.ts";

export interface Batcher {
  add(change: () => void): void;
  /** Applies what is waiting now. */
  flush(): void;
}

export function createBatcher(graph: Graph): Batcher {
  let waiting: (() => void)[] = [];
  let scheduled: NodeJS.Immediate | undefined;
  const flush = (): void => {
    clearImmediate(scheduled);
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
      scheduled ??= setImmediate(flush);
    },
    flush,
  };
}
