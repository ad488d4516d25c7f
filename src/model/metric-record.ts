/**
 * What a stock Envoy writes down of a request or connection for its agent, which counts it: the one agreement between
 * who renders the logger and who reads its lines. A line is two groups of columns: those that decide labels, which the
 * agent takes as one key, and those that are counted.
 */

/** The static cluster of the bootstrap that leads to the agent. */
export const telemetryCluster = "fairlead-telemetry";

export const columnSeparator = "\x1f";
export const groupSeparator = "\x1e";

/** Of the peer, what the connection proves and where it is; of the rest, what Envoy itself decided. Never a header. */
export const labelColumns = [
  "peerAddress",
  "peerPrincipal",
  "localPrincipal",
  "peerWorkload",
  "cluster",
  "services",
  "route",
  "responseFlags",
  "responseCode",
  "grpcStatus",
] as const;
export type LabelColumn = (typeof labelColumns)[number];

export const httpValueColumns = ["durationMs", "receivedBytes", "sentBytes", "messages"] as const;
export const tcpValueColumns = ["logType", "connection", "receivedBytes", "sentBytes"] as const;

/**
 * What Envoy notes of a request beside its line, as attributes of the log record: nobody reads it unless somebody looks at
 * live requests. All of it is what a caller has sent.
 */
export const requestNotes = ["method", "authority", "path"] as const;

/** Headers that are noted too, for those who may see them. */
export const tapHeaders: readonly string[] = ["user-agent", "x-request-id"];

/** How many may look at live requests at once, for how long, and at how many a second. */
export const tapLimits = { maxTaps: 4, longestMs: 60_000, mostPerSecond: 50 } as const;

/** Standard metrics without `istio_`, by the names that the Telemetry API has for them. */
export const standardMetrics: ReadonlyMap<string, string> = new Map([
  ["REQUEST_COUNT", "requests_total"],
  ["REQUEST_DURATION", "request_duration_milliseconds"],
  ["REQUEST_SIZE", "request_bytes"],
  ["RESPONSE_SIZE", "response_bytes"],
  ["TCP_OPENED_CONNECTIONS", "tcp_connections_opened_total"],
  ["TCP_CLOSED_CONNECTIONS", "tcp_connections_closed_total"],
  ["TCP_SENT_BYTES", "tcp_sent_bytes_total"],
  ["TCP_RECEIVED_BYTES", "tcp_received_bytes_total"],
  ["GRPC_REQUEST_MESSAGES", "request_messages_total"],
  ["GRPC_RESPONSE_MESSAGES", "response_messages_total"],
]);

/** Sent with every batch of lines, as JSON in the resource attribute of this name. */
export const metricPlanAttribute = "fairlead.metrics";

export interface MetricPlan {
  readonly reporter: "source" | "destination";
  readonly protocol: "http" | "tcp";
  /** By metric without `istio_`: what the Telemetry API changes. */
  readonly changes: Readonly<Record<string, MetricChange>>;
}

export interface MetricChange {
  readonly drop?: boolean;
  readonly remove?: readonly string[];
  /** Tag -> index of the further label column that has its value. */
  readonly set?: Readonly<Record<string, number>>;
}
