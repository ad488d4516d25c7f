/** The nouns: who calls whom for which service, and what was counted of it. Plain data, as JSON carries it. */
import {
  type ConnectionCount,
  connectionCounts,
  latencyBoundsMs,
  type RequestCount,
  requestCounts,
  type TrafficProtocol,
} from "../model/index.ts";

/** A workload; empty where it is not known. */
export interface Party {
  readonly namespace: string;
  readonly workload: string;
  readonly app: string;
  readonly version: string;
}

/** What the caller asked for; empty where it is not known, and a cluster's name where it is no service. */
export interface CalledService {
  readonly host: string;
  readonly name: string;
  readonly namespace: string;
}

export interface EdgeName {
  readonly source: Party;
  readonly destination: Party;
  readonly service: CalledService;
  readonly protocol: TrafficProtocol;
}

/** Whose proxy has counted. The source's also sees what never reached the destination. */
export type Side = "source" | "destination";

/** Requests of a time. */
export interface Requests extends Readonly<Record<RequestCount, number>> {
  /** By `latencyBoundsMs`, each bucket alone. */
  readonly latency: readonly number[];
}

/** Connections of a time. */
export type Connections = Readonly<Record<ConnectionCount, number>>;

/** Requests where the protocol has them, connections where it is TCP. */
export interface Counted {
  readonly requests?: Requests;
  readonly connections?: Connections;
}

/** One edge over a time. */
export interface EdgeTraffic extends EdgeName {
  /** True where workloads were too many to tell apart: it has all between two namespaces. */
  readonly folded: boolean;
  readonly bySource?: Counted;
  readonly byDestination?: Counted;
  /** Envoy's response flags since the edge was first seen. */
  readonly flags: Readonly<Record<string, number>>;
  readonly firstSeen: string;
  readonly lastSeen: string;
}

export const nobody: Party = { namespace: "", workload: "", app: "", version: "" };
export const noService: CalledService = { host: "", name: "", namespace: "" };

/** Numbers by place, as agents send them and rings keep them, by name. */
export function countedOf(protocol: TrafficProtocol, numbers: readonly number[]): Counted {
  const at = (place: number): number => numbers[place] ?? 0;
  if (protocol === "tcp") return { connections: named(connectionCounts, at) };
  const latency = Array.from({ length: latencyBoundsMs.length + 1 }, (_, i) => at(requestCounts.length + i));
  return { requests: { ...named(requestCounts, at), latency } };
}

function named<Name extends string>(names: readonly Name[], at: (place: number) => number): Record<Name, number> {
  return Object.fromEntries(names.map((name, place) => [name, at(place)])) as Record<Name, number>;
}
