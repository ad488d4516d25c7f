/** Store events in, streams that can begin at any recent version out; a version that is too old is refused, never guessed. */
import { failure } from "./failure.ts";
import type { Store, StoreEvent } from "./store.ts";

export interface WatchHub {
  /**
   * Hands over every event of the resource after the version, first those of the past, then those to come.
   * Throws Expired (410) when the past does not reach back so far.
   */
  follow(resource: string, after: number, listener: (event: StoreEvent) => void): () => void;
}

export function createWatchHub(store: Store, limit = 2048): WatchHub {
  const start = store.version;
  const histories = new Map<string, { floor: number; events: StoreEvent[] }>();
  const listeners = new Map<string, Set<(event: StoreEvent) => void>>();

  store.subscribe((event) => {
    let history = histories.get(event.resource);
    if (!history) {
      history = { floor: start, events: [] };
      histories.set(event.resource, history);
    }
    history.events.push(event);
    if (history.events.length > limit) {
      // Half at a time, so that the cost of moving the rest is spread.
      const dropped = history.events.splice(0, limit / 2);
      history.floor = dropped.at(-1)?.version ?? history.floor;
    }
    for (const listener of [...(listeners.get(event.resource) ?? [])]) listener(event);
  });

  return {
    follow(resource, after, listener) {
      const history = histories.get(resource);
      const floor = history?.floor ?? start;
      if (after < floor) throw failure("Expired", `too old resource version: ${after} (${floor})`);
      for (const event of history?.events ?? []) if (event.version > after) listener(event);
      const group = listeners.get(resource) ?? new Set();
      listeners.set(resource, group.add(listener));
      return () => group.delete(listener);
    },
  };
}
