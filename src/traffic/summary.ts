/** Edges of a time in; for each workload, service or namespace what came to it, as rates, shares and quantiles, out. */
import { latencyBoundsMs } from "../model/index.ts";
import type { MutualTls, Party } from "../read-api/index.ts";
import { addConnections, addFlags, addRequests, noConnections, noRequests } from "./add.ts";
import type { Connections, Counted, EdgeTraffic, Requests } from "./edge.ts";

export type Grouping = "workload" | "service" | "namespace";

/** Whether what comes to a place is meant, or what goes out from it. */
export type Way = "in" | "out";

export interface TrafficRow {
  readonly namespace: string;
  /** Of a namespace, its own. Empty where it is not known. */
  readonly name: string;
  /** Whether it has what is counted by namespace alone, for want of room: then an empty name stands for many. */
  readonly folded: boolean;
  readonly requests: Requests;
  readonly connections: Connections;
  readonly requestsPerSecond: number;
  /** Of those that were answered, the share without server errors; undefined without requests. */
  readonly success: number | undefined;
  readonly p50Ms: number | undefined;
  readonly p95Ms: number | undefined;
  readonly p99Ms: number | undefined;
  readonly mutualTls: MutualTls;
  readonly protocols: readonly string[];
  /** Envoy's response flags since the edges were first seen. */
  readonly flags: Readonly<Record<string, number>>;
}

export interface Summary {
  readonly seconds: number;
  readonly traffic: readonly EdgeTraffic[];
}

/** What came to each, or went out from it. Those that have only the other are there too, with nothing. */
export function summarize({ seconds, traffic }: Summary, by: Grouping, way: Way = "in"): readonly TrafficRow[] {
  const groups = new Map<string, { readonly name: GroupName; readonly edges: EdgeTraffic[] }>();
  const groupOf = (name: GroupName): { readonly edges: EdgeTraffic[] } => {
    const key = `${name.namespace}/${name.name}`;
    const group = groups.get(key) ?? { name, edges: [] };
    groups.set(key, group);
    return group;
  };
  for (const edge of traffic) {
    const [source, destination] = [sourceOf(edge, by), destinationOf(edge, by)];
    const [own, other] = way === "in" ? [destination, source] : [source, destination];
    if (own) groupOf(own).edges.push(edge);
    if (other) groupOf(other);
  }
  return [...groups.values()].map(({ name, edges }) => rowOf(name, edges, seconds));
}

/** A workload, a service, or a namespace, whose name is twice there then. */
export interface GroupName {
  readonly namespace: string;
  readonly name: string;
}

/** Services are called, and call nobody. */
const sourceOf = ({ source }: EdgeTraffic, by: Grouping): GroupName | undefined =>
  by === "service" || source.namespace === "" ? undefined : groupNameOf(source, by);

export const groupNameOf = ({ namespace, workload }: Party, by: Grouping): GroupName =>
  by === "namespace" ? { namespace, name: namespace } : { namespace, name: workload };

export function destinationOf({ destination, service }: EdgeTraffic, by: Grouping): GroupName {
  if (by === "service") return { namespace: service.namespace, name: service.name };
  // Of what never got as far as a workload, the service says where it was meant to go.
  return groupNameOf(destination.namespace === "" ? { ...destination, namespace: service.namespace } : destination, by);
}

export function rowOf(name: GroupName, edges: readonly EdgeTraffic[], seconds: number): TrafficRow {
  const counted = edges.map(oneSide);
  const requests = counted.reduce((sum, { requests: more }) => (more ? addRequests(sum, more) : sum), noRequests);
  const connections = counted.reduce(
    (sum, { connections: more }) => (more ? addConnections(sum, more) : sum),
    noConnections,
  );
  const answered = requests.requests - requests.unanswered;
  return {
    ...name,
    folded: edges.some(({ folded }) => folded),
    requests,
    connections,
    requestsPerSecond: requests.requests / seconds,
    success: answered > 0 ? 1 - requests.serverErrors / answered : undefined,
    p50Ms: quantile(requests.latency, 0.5),
    p95Ms: quantile(requests.latency, 0.95),
    p99Ms: quantile(requests.latency, 0.99),
    mutualTls: mutualTlsOf(requests.mutual + connections.mutual, requests.plain + connections.plain),
    protocols: [...new Set(edges.map(({ protocol }) => protocol))].sort(),
    flags: Object.fromEntries(addFlags(edges)),
  };
}

/**
 * Both ends count the same requests. The caller's has more where some never arrived, the other end's where the caller has
 * no proxy that reports: who has seen more is believed. Whether it was mutual TLS, the server knows best.
 */
function oneSide({ bySource, byDestination }: Pick<EdgeTraffic, "bySource" | "byDestination">): Counted {
  if (!bySource || !byDestination) return bySource ?? byDestination ?? {};
  const seen = (one: Counted): number => one.requests?.requests ?? one.connections?.opened ?? 0;
  if (seen(byDestination) >= seen(bySource)) return byDestination;
  return {
    ...(bySource.requests ? { requests: { ...bySource.requests, ...securityOf(byDestination.requests) } } : {}),
    ...(bySource.connections
      ? { connections: { ...bySource.connections, ...securityOf(byDestination.connections) } }
      : {}),
  };
}

const securityOf = (one: { readonly mutual: number; readonly plain: number } | undefined) =>
  one ? { mutual: one.mutual, plain: one.plain } : {};

function mutualTlsOf(mutual: number, plain: number): MutualTls {
  if (mutual === 0 && plain === 0) return "unknown";
  if (plain === 0) return "all";
  return mutual === 0 ? "none" : "mixed";
}

/** As Prometheus does: evenly within a bucket; of what took longer than the last bound, that bound. */
function quantile(latency: readonly number[], share: number): number | undefined {
  const total = latency.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  const rank = share * total;
  let below = 0;
  for (const [place, count] of latency.entries()) {
    if (below + count >= rank && count > 0) {
      const upper = latencyBoundsMs[place];
      const lower = latencyBoundsMs[place - 1] ?? 0;
      return upper === undefined ? lower : lower + ((upper - lower) * (rank - below)) / count;
    }
    below += count;
  }
  return latencyBoundsMs.at(-1);
}
