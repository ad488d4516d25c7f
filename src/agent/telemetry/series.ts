/** Numbers of one set of labels: counters and histograms that grow with each line. */
import type { Labels } from "./labels.ts";
import type { Plan } from "./metric-plan.ts";

/** Envoy's own buckets, which Istio's dashboards know; the last one has no bound. */
export const bucketBounds: readonly number[] = [
  0.5, 1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000,
  3_600_000,
];

export class Histogram {
  /** Of each bucket alone; they are added up when printed. */
  readonly buckets = new Float64Array(bucketBounds.length + 1);
  sum = 0;

  observe(value: number): void {
    let at = 0;
    while (at < bucketBounds.length && value > (bucketBounds[at] ?? 0)) at++;
    this.buckets[at] = (this.buckets[at] ?? 0) + 1;
    this.sum += value;
  }

  add(other: Histogram): void {
    addAll(this.buckets, other.buckets);
    this.sum += other.sum;
  }
}

/** Counters by place. */
export const counters = {
  requests: 0,
  requestMessages: 1,
  responseMessages: 2,
  opened: 3,
  closed: 4,
  sentBytes: 5,
  receivedBytes: 6,
} as const;

/** Histograms by place; connections have none. */
export const histograms = { durationMs: 0, receivedBytes: 1, sentBytes: 2 } as const;

export class Series {
  readonly plan: Plan;
  readonly labels: Labels;
  /** Values of tags that the user sets. */
  readonly further: readonly string[];
  readonly counts = new Float64Array(Object.keys(counters).length);
  readonly histograms: readonly Histogram[];
  usedAtMs = 0;
  /** Where its numbers went when it became known who the peer is. */
  movedTo: Series | undefined = undefined;

  constructor(plan: Plan, labels: Labels, further: readonly string[]) {
    this.plan = plan;
    this.labels = labels;
    this.further = further;
    this.histograms = plan.protocol === "http" ? [new Histogram(), new Histogram(), new Histogram()] : [];
  }

  count(place: number, by: number): void {
    this.counts[place] = (this.counts[place] ?? 0) + by;
  }

  moveTo(other: Series): void {
    addAll(other.counts, this.counts);
    for (const [place, histogram] of this.histograms.entries()) other.histograms[place]?.add(histogram);
    other.usedAtMs = Math.max(other.usedAtMs, this.usedAtMs);
    this.movedTo = other;
  }
}

/** The series that has the numbers now. */
export function current(series: Series): Series {
  let at = series;
  while (at.movedTo) at = at.movedTo;
  return at;
}

function addAll(into: Float64Array, from: Float64Array): void {
  for (const [place, value] of from.entries()) into[place] = (into[place] ?? 0) + value;
}
