/**
 * The metrics of an Envoy that counts for itself (`istio.stats` of an istio-proxy build) in, as it shows them; what is new of
 * each edge since they were last read out. Only the families that edges are made of are asked for.
 */
import type { Logger } from "../../lib/index.ts";
import { addSample, type EdgeDelta, type EdgeSource, type Sample } from "./edge-counts.ts";
import { bucketBounds } from "./series.ts";

export interface PulledEdgesOptions {
  /** Envoy's metrics in Prometheus' form, for a query. */
  readonly read: (query: string) => Promise<string>;
  readonly log: Logger;
}

const counters =
  "requests_total|tcp_connections_opened_total|tcp_connections_closed_total|tcp_sent_bytes_total|tcp_received_bytes_total";
const durations = "request_duration_milliseconds";
/** Buckets are most of the text; where there are so many label sets, quantiles are done without. */
const mostText = 4 * 1024 * 1024;

interface Line {
  readonly family: string;
  /** Without the bucket's bound. */
  readonly labelText: string;
  readonly bound: string | undefined;
  readonly value: number;
}

export function createPulledEdges({ read, log }: PulledEdgesOptions): EdgeSource {
  let before: ReadonlyMap<string, number> | undefined;
  let withDurations = true;

  async function pull(): Promise<readonly Line[]> {
    const families = withDurations ? `${counters}|${durations}` : counters;
    const text = await read(`usedonly&filter=${encodeURIComponent(`istio_(${families})`)}`);
    if (withDurations && text.length > mostText) {
      withDurations = false;
      log.info("durations of requests are no longer reported: Envoy has too many label sets");
    }
    return text.split("\n").flatMap((line) => readLine(line) ?? []);
  }

  return {
    async take() {
      const lines = await pull().catch(() => undefined);
      // An Envoy that does not answer now has counted meanwhile.
      if (!lines) return [];
      const now = new Map(lines.map((line) => [keyOf(line), line.value]));
      const last = before;
      // One that is not shown for once may come back; those that are shown no longer are not kept without end.
      before = last && last.size < 2 * now.size + 1000 ? new Map([...last, ...now]) : now;
      // What there was when the agent came, somebody has reported, or nobody can tell when it was.
      return last ? edgesOf(lines, (line) => growth(line.value, last.get(keyOf(line)))) : [];
    },
  };
}

const keyOf = ({ family, labelText, bound = "" }: Line): string => `${family} ${bound} ${labelText}`;

/** An Envoy that was started again counts from zero. */
const growth = (value: number, before = 0): number => (value < before ? value : value - before);

function readLine(line: string): Line | undefined {
  const [, family, inner = "", number] = /^istio_(\w+)\{(.*)\} ([\d.e+]+)$/.exec(line) ?? [];
  const value = Number(number);
  if (family === undefined || !Number.isFinite(value)) return undefined;
  if (!family.startsWith(durations)) return { family, labelText: inner, bound: undefined, value };
  if (family !== `${durations}_bucket`) return undefined;
  const [whole = "", bound] = /,?le="([^"]*)"/.exec(inner) ?? [];
  return { family: durations, labelText: inner.replace(whole, ""), bound, value };
}

function edgesOf(lines: readonly Line[], newOf: (line: Line) => number): readonly EdgeDelta[] {
  const edges = new Map<string, EdgeDelta>();
  for (const group of Map.groupBy(lines, ({ family, labelText }) => `${family} ${labelText}`).values()) {
    const sample = sampleOf(group, newOf);
    if (sample) addSample(edges, sample);
  }
  return [...edges.values()].filter(({ counts }) => counts.some((count) => count > 0));
}

/** Lines of one family and one set of labels. */
function sampleOf(lines: readonly Line[], newOf: (line: Line) => number): Sample | undefined {
  const [first] = lines;
  if (!first) return undefined;
  const labels = new Map([...first.labelText.matchAll(labelPattern)].map(([, name = "", value = ""]) => [name, value]));
  const none = { labels, count: 0, closed: 0, sentBytes: 0, receivedBytes: 0, buckets: [] };
  if (first.family === durations) return { ...none, buckets: bucketsOf(lines, newOf) };
  const more = newOf(first);
  if (more === 0) return undefined;
  return { ...none, [fieldOf.get(first.family) ?? "count"]: more };
}

const labelPattern = /(\w+)="((?:[^"\\]|\\.)*)"/g;
const fieldOf: ReadonlyMap<string, "closed" | "sentBytes" | "receivedBytes"> = new Map([
  ["tcp_connections_closed_total", "closed"],
  ["tcp_sent_bytes_total", "sentBytes"],
  ["tcp_received_bytes_total", "receivedBytes"],
]);

/** Each bucket alone: Prometheus' has those below it too. */
function bucketsOf(lines: readonly Line[], newOf: (line: Line) => number): readonly number[] {
  const upTo = new Map(lines.map((line) => [line.bound ?? "", newOf(line)]));
  const sums = [...bucketBounds.map(String), "+Inf"].map((bound) => upTo.get(bound) ?? 0);
  return sums.map((sum, i) => Math.max(0, sum - (sums[i - 1] ?? 0)));
}
