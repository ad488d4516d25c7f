/** Store events in, readers that can begin at any recent version out; a version that is too old is refused, never guessed. */
import { failure } from "./failure.ts";
import { pastEvent } from "./past-event.ts";
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
  /** An object as JSON, where the event that brought it to this version is kept. */
  textOf(resource: string, key: string, version: string | undefined): string | undefined;
  /** Drops the past: who would resume there begins anew. */
  forget(): void;
  /** Readers that are open. */
  readonly size: number;
}

interface Kept {
  readonly event: StoreEvent;
  readonly atMs: number;
}

interface History {
  /** Events up to this version are not kept. */
  floor: number;
  /** How many events came before the first of `kept`. */
  before: number;
  /** So many of `kept` are dropped already: moving the rest is put off until it is worth it. */
  dropped: number;
  bytes: number;
  readonly kept: (Kept | undefined)[];
  /** The last event of each object, of those that are kept. */
  readonly last: Map<string, StoreEvent>;
  readonly wakes: Set<() => void>;
}

export interface HistoryLimits {
  /** Events of one resource. */
  readonly events: number;
  /** Of all that is kept of one resource; one event more than that is always kept. */
  readonly bytes: number;
  /** The same of all resources together: beyond it, the one that has most gives up its oldest. */
  readonly allBytes: number;
  /** Events that are older go with the next one: as long as Kubernetes' store keeps its past. */
  readonly ageMs: number;
}

export const historyLimits: HistoryLimits = {
  events: 2048,
  bytes: 32 * 1024 * 1024,
  allBytes: 128 * 1024 * 1024,
  ageMs: 5 * 60_000,
};

export function createWatchHub(
  store: Pick<Store, "version" | "subscribe">,
  limits: HistoryLimits = historyLimits,
  now: () => number = () => performance.now(),
): WatchHub {
  const start = store.version;
  const histories = new Map<string, History>();
  let size = 0;

  const historyOf = (resource: string): History => {
    let history = histories.get(resource);
    if (!history) {
      history = { floor: start, before: 0, dropped: 0, bytes: 0, kept: [], last: new Map(), wakes: new Set() };
      histories.set(resource, history);
    }
    return history;
  };
  store.subscribe((event) => {
    const history = historyOf(event.resource);
    const atMs = now();
    const past = pastEvent(event, history.last.get(event.key)?.text);
    history.kept.push({ event: past, atMs });
    history.last.set(event.key, past);
    history.bytes += event.text.length;
    trim(history, limits, atMs);
    trimAll(histories, limits);
    for (const wake of [...history.wakes]) wake();
  });

  return {
    open(resource, after, wake) {
      const history = historyOf(resource);
      if (after < history.floor) throw failure("Expired", `too old resource version: ${after} (${history.floor})`);
      let at = history.before + firstAfter(history, after);
      history.wakes.add(wake);
      size++;
      return {
        next() {
          if (at < history.before + history.dropped) return "expired";
          const event = history.kept[at - history.before]?.event;
          if (event) at++;
          return event;
        },
        get version() {
          if (at < history.before + history.dropped) return undefined;
          const next = history.kept[at - history.before]?.event;
          return next ? next.version - 1 : store.version;
        },
        close() {
          if (history.wakes.delete(wake)) size--;
        },
      };
    },
    textOf(resource, key, version) {
      const last = histories.get(resource)?.last.get(key);
      return last && String(last.version) === version ? last.text : undefined;
    },
    forget() {
      for (const history of histories.values()) trim(history, { events: 1, bytes: 0, allBytes: 0, ageMs: 0 }, now());
    },
    get size() {
      return size;
    },
  };
}

/** The oldest first, and never the last one. */
function trim(history: History, limits: HistoryLimits, nowMs: number): void {
  const { kept } = history;
  const isTooMuch = ({ atMs }: Kept): boolean =>
    kept.length - history.dropped > limits.events || history.bytes > limits.bytes || atMs < nowMs - limits.ageMs;
  while (history.dropped < kept.length - 1) {
    const oldest = kept[history.dropped];
    if (!oldest || !isTooMuch(oldest)) break;
    dropOldest(history, oldest);
  }
  if (history.dropped * 2 < kept.length) return;
  kept.splice(0, history.dropped);
  history.before += history.dropped;
  history.dropped = 0;
}

function dropOldest(history: History, { event }: Kept): void {
  history.floor = event.version;
  history.bytes -= event.text.length;
  history.kept[history.dropped] = undefined;
  history.dropped++;
  if (history.last.get(event.key) === event) history.last.delete(event.key);
}

function trimAll(histories: ReadonlyMap<string, History>, { allBytes }: HistoryLimits): void {
  const all = [...histories.values()];
  let excess = all.reduce((sum, { bytes }) => sum + bytes, 0) - allBytes;
  while (excess > 0) {
    const [most] = all.filter(({ kept, dropped }) => kept.length - dropped > 1).sort((a, b) => b.bytes - a.bytes);
    const oldest = most?.kept[most.dropped];
    if (!most || !oldest) return;
    excess -= oldest.event.text.length;
    dropOldest(most, oldest);
  }
}

/** The index of the first event that is newer than the version. */
function firstAfter({ kept, dropped }: History, version: number): number {
  let [low, high] = [dropped, kept.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((kept[middle]?.event.version ?? 0) > version) high = middle;
    else low = middle + 1;
  }
  return low;
}
