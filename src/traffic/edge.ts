/** The nouns: what was counted of who calls whom for which service. Plain data, as JSON carries it. */
import {
  type ConnectionCount,
  connectionCounts,
  latencyBoundsMs,
  type RequestCount,
  requestCounts,
  type TrafficProtocol,
} from "../model/index.ts";
import type { CalledService, EdgeName, Party } from "../read-api/index.ts";

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
