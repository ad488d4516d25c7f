/** Store events in, readers that can begin at any recent version out; a version that is too old is refused, never guessed. */
import { failure } from "./failure.ts";
import type { Store, StoreEvent } from "./store.ts";

/** One reader's place in the events of a resource. It holds nothing but its place: who is slow costs no memory. */
export interface Cursor {
  /** The next event; undefined: none yet; "expired": it has fallen behind what is kept. */
  next(): StoreEvent | undefined | "expired";
  /** The version up to which everything has been handed over; undefined where something was missed. */
  readonly version: number | undefined;
  close(): void;
}

export interface WatchHub {
  /**
   * Every event of the resource after the version, those of the past and those to come; `wake` is called when there is
   * one. Throws Expired (410) when the past does not reach back so far.
   */
  open(resource: string, after: number, wake: () => void): Cursor;
  /** Drops the past: who would resume there begins anew. */
  forget(): void;
  /** Readers that are open. */
  readonly size: number;
}

interface History {
  /** Events up to this version are not kept. */
  floor: number;
  /** How many events came before the first that is kept. */
  dropped: number;
  bytes: number;
  readonly events: StoreEvent[];
  readonly wakes: Set<() => void>;
}

export interface HistoryLimits {
  /** Events of one resource. */
  readonly events: number;
  /** Of all that is kept of one resource; one event more than that is always kept. */
  readonly bytes: number;
}

export const historyLimits: HistoryLimits = { events: 2048, bytes: 32 * 1024 * 1024 };

export function createWatchHub(store: Store, limits: HistoryLimits = historyLimits): WatchHub {
  const start = store.version;
  const histories = new Map<string, History>();
  let size = 0;

  const historyOf = (resource: string): History => {
    let history = histories.get(resource);
    if (!history) {
      history = { floor: start, dropped: 0, bytes: 0, events: [], wakes: new Set() };
      histories.set(resource, history);
    }
    return history;
  };
  store.subscribe((event) => {
    const history = historyOf(event.resource);
    history.events.push(event);
    history.bytes += event.bytes;
    if (history.events.length > limits.events || history.bytes > limits.bytes) trim(history, limits);
    for (const wake of [...history.wakes]) wake();
  });

  return {
    open(resource, after, wake) {
      const history = historyOf(resource);
      if (after < history.floor) throw failure("Expired", `too old resource version: ${after} (${history.floor})`);
      let at = history.dropped + firstAfter(history.events, after);
      history.wakes.add(wake);
      size++;
      return {
        next() {
          if (at < history.dropped) return "expired";
          const event = history.events[at - history.dropped];
          if (event) at++;
          return event;
        },
        get version() {
          if (at < history.dropped) return undefined;
          const next = history.events[at - history.dropped];
          return next ? next.version - 1 : store.version;
        },
        close() {
          if (history.wakes.delete(wake)) size--;
        },
      };
    },
    forget() {
      for (const history of histories.values()) trim(history, { events: 2, bytes: 0 });
    },
    get size() {
      return size;
    },
  };
}

/** Half at a time, so that the cost of moving the rest is spread. */
function trim(history: History, limits: HistoryLimits): void {
  let [count, bytes] = [0, history.bytes];
  const { events } = history;
  while (count < events.length - 1 && (events.length - count > limits.events / 2 || bytes > limits.bytes / 2)) {
    bytes -= events[count]?.bytes ?? 0;
    count++;
  }
  history.floor = events[count - 1]?.version ?? history.floor;
  history.dropped += count;
  history.bytes = bytes;
  events.splice(0, count);
}

/** The index of the first event that is newer than the version. */
function firstAfter(events: readonly StoreEvent[], version: number): number {
  let [low, high] = [0, events.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((events[middle]?.version ?? 0) > version) high = middle;
    else low = middle + 1;
  }
  return low;
}
