/**
 * What is counted of the requests and connections between two workloads: the one agreement between agents, who count, and
 * the control plane, which adds up. A list of numbers has these places, and for requests the buckets of their durations
 * after them.
 */
export const requestCounts = [
  "requests",
  /** Answers 4xx, and gRPC's statuses that blame the caller. */
  "clientErrors",
  /** Answers 5xx, and gRPC's statuses that blame the server. */
  "serverErrors",
  /** Answers 401 and 403, and gRPC's for the same; client errors too. */
  "denied",
  /** Whose caller had gone before there was an answer. */
  "unanswered",
  /** Which Envoy has marked with a response flag. */
  "flagged",
  /** Over mutual TLS, and known not to be; the rest is not known. */
  "mutual",
  "plain",
] as const;
export type RequestCount = (typeof requestCounts)[number];

/** Upper bounds of the buckets, some of Envoy's own; one more bucket has what took longer. */
export const latencyBoundsMs: readonly number[] = [1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 60_000];

export const connectionCounts = ["opened", "closed", "mutual", "plain", "sentBytes", "receivedBytes"] as const;
export type ConnectionCount = (typeof connectionCounts)[number];

export type TrafficProtocol = "http" | "grpc" | "tcp";

/** How many numbers there are. */
export const countPlaces = (protocol: TrafficProtocol): number =>
  protocol === "tcp" ? connectionCounts.length : requestCounts.length + latencyBoundsMs.length + 1;

/** How often agents report. */
export const reportIntervalMs = 10_000;
