/** Series in; Istio's standard metrics in Prometheus' text format out. */
import { unknown } from "./labels.ts";
import { bucketBounds, counters, Histogram, histograms, type Series } from "./series.ts";

type Family = {
  readonly name: string;
  readonly protocol: "http" | "tcp";
  readonly labels: (label: string) => boolean;
} & ({ readonly counter: number } | { readonly histogram: number });

/** Messages are counted before the answer is known, connections have none. */
const ofAnswer = new Set(["response_code", "grpc_response_status"]);
const ofRequest = new Set([...ofAnswer, "request_protocol", "response_flags", "connection_security_policy"]);
const all = (): boolean => true;
const peersOnly = (label: string): boolean => !ofRequest.has(label);
const withoutAnswer = (label: string): boolean => !ofAnswer.has(label);

const http = { protocol: "http", labels: all } as const;
const messages = { protocol: "http", labels: peersOnly } as const;
const tcp = { protocol: "tcp", labels: withoutAnswer } as const;

const families: readonly Family[] = [
  { name: "requests_total", ...http, counter: counters.requests },
  { name: "request_duration_milliseconds", ...http, histogram: histograms.durationMs },
  { name: "request_bytes", ...http, histogram: histograms.receivedBytes },
  { name: "response_bytes", ...http, histogram: histograms.sentBytes },
  { name: "request_messages_total", ...messages, counter: counters.requestMessages },
  { name: "response_messages_total", ...messages, counter: counters.responseMessages },
  { name: "tcp_connections_opened_total", ...tcp, counter: counters.opened },
  { name: "tcp_connections_closed_total", ...tcp, counter: counters.closed },
  { name: "tcp_sent_bytes_total", ...tcp, counter: counters.sentBytes },
  { name: "tcp_received_bytes_total", ...tcp, counter: counters.receivedBytes },
];

/** In pieces: with its buckets a series takes some 60 KB, and there may be many. */
export function* formatSeries(series: Iterable<Series>): Generator<string> {
  const list = [...series];
  for (const family of families) yield* formatFamily(family, list);
}

function* formatFamily(family: Family, series: readonly Series[]): Generator<string> {
  const members = series.filter(
    ({ plan }) => plan.protocol === family.protocol && !plan.changes.get(family.name)?.drop,
  );
  const pieces = "counter" in family ? counterLines(family, family.counter, members) : histogramLines(family, members);
  if (pieces.length === 0) return;
  yield `# TYPE istio_${family.name} ${"counter" in family ? "counter" : "histogram"}\n`;
  for (const piece of pieces) yield piece();
}

type Piece = () => string;

/** Series that tell apart what a removed tag told apart are one again. */
function counterLines(family: Family, place: number, members: readonly Series[]): readonly Piece[] {
  const sums = new Map<string, number>();
  for (const series of members) {
    const value = series.counts[place] ?? 0;
    // Most requests are no gRPC and have no messages.
    if (value === 0 && family.labels === peersOnly) continue;
    const labels = labelText(family, series);
    sums.set(labels, (sums.get(labels) ?? 0) + value);
  }
  return [...sums].map(
    ([labels, value]) =>
      () =>
        `istio_${family.name}{${labels}} ${value}\n`,
  );
}

function histogramLines(family: Family & { readonly histogram: number }, members: readonly Series[]): readonly Piece[] {
  const sums = new Map<string, Histogram>();
  for (const series of members) {
    const own = series.histograms[family.histogram];
    if (!own) continue;
    const labels = labelText(family, series);
    const sum = sums.get(labels) ?? new Histogram();
    sum.add(own);
    sums.set(labels, sum);
  }
  return [...sums].map(
    ([labels, histogram]) =>
      () =>
        formatHistogram(`istio_${family.name}`, labels, histogram),
  );
}

function formatHistogram(name: string, labels: string, { buckets, sum }: Histogram): string {
  let count = 0;
  const lines = [...buckets].map((value, place) => {
    count += value;
    return `${name}_bucket{${labels},le="${bucketBounds[place] ?? "+Inf"}"} ${count}`;
  });
  return [...lines, `${name}_sum{${labels}} ${sum}`, `${name}_count{${labels}} ${count}`, ""].join("\n");
}

/** With the user's changes for this metric. */
function labelText(family: Family, { plan, labels, further }: Series): string {
  const change = plan.changes.get(family.name);
  const shown = new Map([...labels].filter(([label]) => family.labels(label)));
  for (const [tag, column] of change?.set ?? []) shown.set(labelName(tag), further[column] || unknown);
  for (const tag of change?.remove ?? []) shown.delete(tag);
  return [...shown].map(([label, value]) => `${label}="${labelValue(value)}"`).join(",");
}

/** One name twice, or that of the buckets' bounds, would make the whole answer unreadable. */
function labelName(tag: string): string {
  const name = tag.replace(/[^a-zA-Z0-9_]/g, "_").replace(/^(?=\d|$)/, "_");
  return name === "le" ? "le_" : name;
}

const longestValue = 256;

/** The format knows three escapes; other control characters are written out, for whoever reads the answer in a terminal. */
function labelValue(value: string): string {
  const plain = value
    .slice(0, longestValue)
    .toWellFormed()
    .replace(/[\p{Cc}\u2028\u2029]/gu, (char) =>
      char === "\n" ? char : `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
  return plain.replace(/[\\"\n]/g, (char) => (char === "\n" ? "\\n" : `\\${char}`));
}
