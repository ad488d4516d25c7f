/**
 * Keys of lines in; the series that each counts towards out. Sets of labels are capped: what comes beyond is counted in
 * one series whose labels are unknown. A series that nothing has counted for long is dropped, as rotation would.
 */
import { buildLabels, type Labels, type LineKey, type Named, overflowLabels, type Peer, parseKey } from "./labels.ts";
import type { Plan } from "./metric-plan.ts";
import { current, Series } from "./series.ts";
import type { WorkloadTable } from "./workload-table.ts";

export interface SeriesStore {
  /** Undefined for a key that is malformed. */
  find(plan: Plan, key: string): Series | undefined;
  /** Lets those wait no longer whose peer has become known, or whose time is up; drops what is idle. */
  sweep(): void;
  /** What can be shown: the peer is known, or will not be. */
  shown(): Iterable<Series>;
  /** Lines that were counted without their labels, for want of room. */
  readonly overflowed: number;
  readonly size: number;
}

export interface SeriesStoreOptions {
  readonly own: Named;
  readonly table: Pick<WorkloadTable, "lookup" | "onChange" | "dropIdle" | "graceMs">;
  readonly maxSeries: number;
  readonly idleMs: number;
  readonly monotonicMs: () => number;
}

interface Waiting {
  readonly series: Series;
  readonly key: LineKey;
  readonly sinceMs: number;
}

/** How often everything is looked up anew: addresses that are in use are told from those that are not. */
const refreshMs = 10 * 60_000;

export function createSeriesStore(options: SeriesStoreOptions): SeriesStore {
  const { own, table, maxSeries, idleMs, monotonicMs } = options;
  const byLabels = new Map<string, Series>();
  const waiting = new Map<string, Waiting[]>();
  /** Finds a line's series without building its labels. Emptied whenever it could be wrong. */
  let cache = new Map<Plan, Map<string, Series>>();
  let waitingCount = 0;
  let refreshedAtMs = monotonicMs();
  let overflowed = 0;
  const forgetKeys = (): void => {
    cache = new Map();
  };
  table.onChange((address) => {
    forgetKeys();
    settle(address, () => false);
  });

  const hasRoom = (): boolean => byLabels.size + waitingCount < maxSeries;

  function known(plan: Plan, key: LineKey, peer: Peer | undefined): Series {
    const labels = buildLabels(plan, key, own, peer);
    return seriesOf(plan, labels, key.further) ?? overflow(plan);
  }

  /** Undefined where there is no room for another one. */
  function seriesOf(plan: Plan, labels: Labels, further: readonly string[]): Series | undefined {
    const id = JSON.stringify([plan.text, ...labels.values(), ...further]);
    const found = byLabels.get(id);
    if (found || !hasRoom()) return found;
    const series = new Series(plan, labels, further);
    byLabels.set(id, series);
    return series;
  }

  /** One for each plan, beyond the cap. */
  function overflow(plan: Plan): Series {
    const found = byLabels.get(plan.text);
    if (found) return found;
    const series = new Series(plan, overflowLabels(plan), []);
    byLabels.set(plan.text, series);
    return series;
  }

  function resolve(plan: Plan, text: string): Series | undefined {
    const key = parseKey(text, plan.tagColumns);
    if (!key) return undefined;
    if (key === "ambiguous") return overflow(plan);
    const address = key.column("peerAddress");
    const peer = address === "" ? undefined : table.lookup(address);
    if (peer !== "pending") return known(plan, key, peer);
    if (!hasRoom()) return overflow(plan);
    const series = new Series(plan, new Map(), key.further);
    waitingCount++;
    waiting.set(address, [...(waiting.get(address) ?? []), { series, key, sinceMs: monotonicMs() }]);
    return series;
  }

  /** Gives those that wait for an address the labels that are known by now. */
  function settle(address: string, isDue: (waiting: Waiting) => boolean): void {
    const all = waiting.get(address);
    if (!all) return;
    const peer = table.lookup(address);
    const due = all.filter((one) => peer !== "pending" || isDue(one));
    const rest = all.filter((one) => !due.includes(one));
    if (rest.length === 0) waiting.delete(address);
    else waiting.set(address, rest);
    waitingCount -= due.length;
    for (const { series, key } of due) series.moveTo(known(series.plan, key, peer === "pending" ? undefined : peer));
  }

  return {
    find(plan, key) {
      const keys = cache.get(plan) ?? new Map<string, Series>();
      cache.set(plan, keys);
      const cached = keys.get(key);
      const series = cached ? current(cached) : resolve(plan, key);
      if (!series) return undefined;
      if (cached !== series && keys.size < 4 * maxSeries) keys.set(key, series);
      series.usedAtMs = monotonicMs();
      if (series === byLabels.get(plan.text)) overflowed++;
      return series;
    },
    sweep() {
      const nowMs = monotonicMs();
      for (const address of [...waiting.keys()]) settle(address, ({ sinceMs }) => nowMs - sinceMs >= table.graceMs);
      if (nowMs - refreshedAtMs < refreshMs) return;
      refreshedAtMs = nowMs;
      forgetKeys();
      table.dropIdle(2 * refreshMs);
      for (const [id, series] of byLabels) if (nowMs - series.usedAtMs > idleMs) byLabels.delete(id);
    },
    shown: () => byLabels.values(),
    get overflowed() {
      return overflowed;
    },
    get size() {
      return byLabels.size + waitingCount;
    },
  };
}
