/**
 * Label sets with their numbers, as they grow, in; what is new of each edge since it was last asked out. An edge is what
 * the control plane is told of: this workload's traffic with another for one service.
 */
import { latencyBoundsMs, requestCounts, type TrafficProtocol } from "../../model/index.ts";
import { type Labels, unknown } from "./labels.ts";
import { bucketBounds, counters, histograms, type Series } from "./series.ts";

/** Of this workload's traffic, from its own point of view. */
export interface Ends {
  readonly side: "source" | "destination";
  readonly protocol: TrafficProtocol;
  readonly peer: {
    readonly namespace: string;
    readonly workload: string;
    readonly app: string;
    readonly version: string;
  };
  readonly service: { readonly host: string; readonly name: string; readonly namespace: string };
}

export interface EdgeDelta extends Ends {
  /** By place, as the model lists them. */
  readonly counts: number[];
  readonly flags: Map<string, number>;
}

export interface EdgeSource {
  /** What is new since the last call; waits where another process has to be asked. */
  take(): Promise<readonly EdgeDelta[]> | readonly EdgeDelta[];
}

/** What one label set has counted. */
export interface Sample {
  readonly labels: Labels;
  /** Requests, or connections that were opened. */
  readonly count: number;
  readonly closed: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** By Envoy's bounds, each bucket alone. */
  readonly buckets: ArrayLike<number>;
}

/** Takes the difference of each series to when it was last looked at. */
export function createSeriesEdges(shown: () => Iterable<Series>): EdgeSource {
  const before = new WeakMap<Series, { readonly counts: Float64Array; readonly buckets: Float64Array }>();
  let takenAtMs = Number.NEGATIVE_INFINITY;

  function newIn(series: Series): Sample {
    const known = before.get(series);
    const buckets = series.histograms[histograms.durationMs]?.buckets ?? new Float64Array(0);
    before.set(series, { counts: series.counts.slice(), buckets: buckets.slice() });
    const more = (place: number): number => (series.counts[place] ?? 0) - (known?.counts[place] ?? 0);
    return {
      labels: series.labels,
      count: more(series.plan.protocol === "tcp" ? counters.opened : counters.requests),
      closed: more(counters.closed),
      sentBytes: more(counters.sentBytes),
      receivedBytes: more(counters.receivedBytes),
      buckets: buckets.map((count, i) => count - (known?.buckets[i] ?? 0)),
    };
  }

  return {
    take() {
      const edges = new Map<string, EdgeDelta>();
      let newestMs = takenAtMs;
      for (const series of shown()) {
        // One that was used in the very millisecond of the last look may have more.
        if (series.usedAtMs >= takenAtMs) addSample(edges, newIn(series));
        newestMs = Math.max(newestMs, series.usedAtMs);
      }
      takenAtMs = newestMs;
      return [...edges.values()].filter(({ counts }) => counts.some((count) => count > 0));
    },
  };
}

/** Who is at both ends, as labels say it. */
export function endsOf(labels: Labels): Ends {
  const text = (label: string): string => known(labels.get(label));
  const side = labels.get("reporter") === "source" ? "source" : "destination";
  const other = side === "source" ? "destination" : "source";
  return {
    side,
    protocol: protocolOf(text("request_protocol")),
    peer: {
      namespace: text(`${other}_workload_namespace`),
      workload: text(`${other}_workload`),
      app: text(`${other}_canonical_service`),
      version: text(`${other}_canonical_revision`),
    },
    service: {
      host: text("destination_service"),
      name: text("destination_service_name"),
      namespace: text("destination_service_namespace"),
    },
  };
}

/** To the edge of its labels. */
export function addSample(edges: Map<string, EdgeDelta>, sample: Sample): void {
  const { labels } = sample;
  const ends = endsOf(labels);
  const { side, protocol, peer, service } = ends;
  const key = JSON.stringify([side, protocol, peer.namespace, peer.workload, service]);
  const edge: EdgeDelta = edges.get(key) ?? { ...ends, counts: [], flags: new Map() };
  edges.set(key, edge);
  const counts = protocol === "tcp" ? connectionsOf(sample) : requestsOf(sample);
  for (const [place, count] of counts.entries()) edge.counts[place] = (edge.counts[place] ?? 0) + Math.max(0, count);
  const flag = labels.get("response_flags") ?? "-";
  for (const one of flag === "-" || sample.count === 0 ? [] : flag.split(","))
    edge.flags.set(one, (edge.flags.get(one) ?? 0) + sample.count);
}

const known = (value: string | undefined): string => (value === undefined || value === unknown ? "" : value);

const protocolOf = (text: string): TrafficProtocol => (text === "tcp" || text === "grpc" ? text : "http");

function connectionsOf(sample: Sample): readonly number[] {
  const { mutual, plain } = securityOf(sample);
  return [sample.count, sample.closed, mutual, plain, sample.sentBytes, sample.receivedBytes];
}

function requestsOf(sample: Sample): readonly number[] {
  const { labels, count } = sample;
  const { blame, isDenied } = outcomeOf(Number(labels.get("response_code")), labels.get("grpc_response_status") ?? "");
  const { mutual, plain } = securityOf(sample);
  const where = (holds: boolean): number => (holds ? count : 0);
  const counts: Readonly<Record<(typeof requestCounts)[number], number>> = {
    requests: count,
    clientErrors: where(blame === "client"),
    serverErrors: where(blame === "server"),
    denied: where(isDenied),
    unanswered: where(blame === "gone"),
    flagged: where((labels.get("response_flags") ?? "-") !== "-"),
    mutual,
    plain,
  };
  const latency = latencyBoundsMs.concat(0).map(() => 0);
  for (let i = 0; i < sample.buckets.length; i++) {
    const place = latencyPlaces[i] ?? latencyBoundsMs.length;
    latency[place] = (latency[place] ?? 0) + (sample.buckets[i] ?? 0);
  }
  return [...requestCounts.map((name) => counts[name]), ...latency];
}

/** Envoy's bucket -> ours. */
const latencyPlaces = [...bucketBounds, Number.POSITIVE_INFINITY].map((bound) => {
  const place = latencyBoundsMs.findIndex((ours) => bound <= ours);
  return place < 0 ? latencyBoundsMs.length : place;
});

/** gRPC's codes that blame the server, as OpenTelemetry has them, and those of who may not. */
const [grpcServer, grpcDenied] = [new Set(["2", "4", "12", "13", "14", "15"]), new Set(["7", "16"])];

function outcomeOf(
  code: number,
  grpc: string,
): { readonly blame: "nobody" | "client" | "server" | "gone"; readonly isDenied: boolean } {
  if (!(code > 0)) return { blame: "gone", isDenied: false };
  if (code >= 500 || grpcServer.has(grpc)) return { blame: "server", isDenied: false };
  const isDenied = code === 401 || code === 403 || grpcDenied.has(grpc);
  return { blame: code >= 400 || !["", "0"].includes(grpc) ? "client" : "nobody", isDenied };
}

/** The caller's proxy knows by the certificate that the other end has shown; without one it may have failed before. */
function securityOf({ labels, count }: Sample): { readonly mutual: number; readonly plain: number } {
  if (isMutual(labels)) return { mutual: count, plain: 0 };
  return { mutual: 0, plain: labels.get("connection_security_policy") === "none" ? count : 0 };
}

export function isMutual(labels: Labels): boolean {
  const policy = labels.get("connection_security_policy");
  const bothShown = ["source_principal", "destination_principal"].every((label) => known(labels.get(label)) !== "");
  return policy === "mutual_tls" || (policy !== "none" && bothShown);
}
