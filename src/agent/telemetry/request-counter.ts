/** Lines that a stock Envoy wrote of its requests and connections in; Istio's standard metrics out. */
import { columnSeparator, groupSeparator, httpValueColumns, istioVersion, tcpValueColumns } from "../../model/index.ts";
import { counterText, gaugeText } from "../metric-text.ts";
import { createConnections } from "./connections.ts";
import { createSeriesEdges, type EdgeSource } from "./edge-counts.ts";
import { formatSeries } from "./exposition.ts";
import type { Named } from "./labels.ts";
import { type LogLines, readLogLines } from "./log-lines.ts";
import { type Plan, parsePlan } from "./metric-plan.ts";
import { counters, histograms, type Series } from "./series.ts";
import { createSeriesStore } from "./series-store.ts";
import type { Taps } from "./tap.ts";
import type { WorkloadTable } from "./workload-table.ts";

export interface RequestCounter {
  /** Takes one request of Envoy's access logger; throws `invalid` for what is none. */
  take(request: Uint8Array): void;
  /** In Prometheus' text format, in pieces; empty as long as nothing was logged. */
  metrics(): Iterable<string>;
  /** What is new of each edge. */
  readonly edges: EdgeSource;
}

export interface RequestCounterOptions {
  readonly own: Named;
  readonly table: WorkloadTable;
  readonly monotonicMs: () => number;
  readonly maxSeries?: number;
  readonly idleMs?: number;
  /** Where somebody looks at single requests. */
  readonly taps?: Pick<Taps, "isActive" | "take">;
}

const hourMs = 3_600_000;
const maxPlans = 64;

export function createRequestCounter(options: RequestCounterOptions): RequestCounter {
  const { own, table, monotonicMs, taps, maxSeries = 2000, idleMs = hourMs } = options;
  const store = createSeriesStore({ own, table, maxSeries, idleMs, monotonicMs });
  const connections = createConnections({ maxConnections: 4 * maxSeries, silentMs: hourMs / 2, monotonicMs });
  const plans = new Map<string, Plan | undefined>();
  let malformed = 0;

  function planOf(text: string): Plan | undefined {
    if (!plans.has(text)) {
      if (plans.size >= maxPlans) plans.clear();
      plans.set(text, parsePlan(text));
    }
    return plans.get(text);
  }

  function takeLines({ plan: text, lines, notes }: LogLines): void {
    const plan = planOf(text);
    const takeLine = plan?.protocol === "http" ? takeRequest : takeConnection;
    for (const [i, line] of lines.entries()) {
      // Nothing that others can choose is in the last group.
      const at = line.lastIndexOf(groupSeparator);
      const values = line.slice(at + 1).split(columnSeparator);
      if (!plan || at < 0 || !takeLine(plan, line.slice(0, at), values)) malformed++;
      else if (notes[i]) taps?.take({ plan, key: line.slice(0, at), values, notes: notes[i] });
    }
  }

  function takeRequest(plan: Plan, key: string, values: readonly string[]): boolean {
    const [duration, received, sent, messages = ""] = values;
    const numbers = [duration, received, sent].map(parseCount);
    if (values.length !== httpValueColumns.length || numbers.includes(undefined)) return false;
    const series = store.find(plan, key);
    if (!series) return false;
    countRequest(series, numbers, messages);
    return true;
  }

  function takeConnection(plan: Plan, key: string, values: readonly string[]): boolean {
    const [type = "", id = "", received, sent] = values;
    const [receivedBytes, sentBytes] = [parseCount(received), parseCount(sent)];
    if (values.length !== tcpValueColumns.length || receivedBytes === undefined || sentBytes === undefined)
      return false;
    // The server's side connects onwards while the client still shows its certificate.
    const isEarly = plan.reporter === "destination" && type === "TcpUpstreamConnected";
    const seriesOf = (): Series | undefined => (isEarly ? undefined : store.find(plan, key));
    connections.report({ type, id, receivedBytes, sentBytes }, seriesOf);
    return true;
  }

  return {
    edges: createSeriesEdges(store.shown),
    take(request) {
      for (const lines of readLogLines(request, taps?.isActive === true)) takeLines(lines);
      store.sweep();
    },
    *metrics() {
      connections.sweep();
      store.sweep();
      if (plans.size === 0) return;
      yield* formatSeries(store.shown());
      yield `# TYPE istio_build gauge\nistio_build{component="proxy",tag="${istioVersion}"} 1\n`;
      yield gaugeText("fairlead_agent_metrics_series", "Label sets of the standard metrics.", store.size);
      yield counterText(
        "fairlead_agent_metrics_overflow_total",
        "Requests counted without labels, for want of room.",
        store.overflowed,
      );
      yield counterText("fairlead_agent_metrics_malformed_total", "Log lines that could not be read.", malformed);
    },
  };
}

function countRequest(series: Series, numbers: readonly (number | undefined)[], messages: string): void {
  const [duration = 0, received = 0, sent = 0] = numbers;
  series.count(counters.requests, 1);
  series.histograms[histograms.durationMs]?.observe(duration);
  series.histograms[histograms.receivedBytes]?.observe(received);
  series.histograms[histograms.sentBytes]?.observe(sent);
  const counted = /^(\d{1,15}),(\d{1,15})$/.exec(messages);
  if (!counted) return;
  series.count(counters.requestMessages, Number(counted[1]));
  series.count(counters.responseMessages, Number(counted[2]));
}

/** Envoy writes `-` where there is nothing to count. */
function parseCount(text: string | undefined): number | undefined {
  if (text === "-") return 0;
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
