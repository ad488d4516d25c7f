/** Counts of several edges, sides or control planes in; their sum out. */
import { connectionCounts, latencyBoundsMs, requestCounts } from "../model/index.ts";
import { type Connections, type Counted, countedOf, type EdgeTraffic, type Requests } from "./edge.ts";
import type { TrafficSnapshot } from "./store.ts";

const requestsFrom = (numbers: readonly number[]): Requests => {
  const { requests } = countedOf("http", numbers);
  return requests ?? noRequests;
};

export const noRequests: Requests = {
  ...{ requests: 0, clientErrors: 0, serverErrors: 0, denied: 0, unanswered: 0, flagged: 0, mutual: 0, plain: 0 },
  latency: latencyBoundsMs.map(() => 0).concat(0),
};
export const noConnections: Connections = {
  ...{ opened: 0, closed: 0, mutual: 0, plain: 0, sentBytes: 0, receivedBytes: 0 },
};

export function addRequests(a: Requests, b: Requests): Requests {
  const counts = requestCounts.map((name) => a[name] + b[name]);
  return requestsFrom([...counts, ...a.latency.map((count, i) => count + (b.latency[i] ?? 0))]);
}

export function addConnections(a: Connections, b: Connections): Connections {
  const { connections } = countedOf(
    "tcp",
    connectionCounts.map((name) => a[name] + b[name]),
  );
  return connections ?? noConnections;
}

function addCounted(a: Counted, b: Counted): Counted {
  const requests = a.requests && b.requests ? addRequests(a.requests, b.requests) : (a.requests ?? b.requests);
  const connections =
    a.connections && b.connections ? addConnections(a.connections, b.connections) : (a.connections ?? b.connections);
  return { ...(requests ? { requests } : {}), ...(connections ? { connections } : {}) };
}

export function addFlags(edges: readonly Pick<EdgeTraffic, "flags">[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const { flags } of edges)
    for (const [flag, count] of Object.entries(flags)) sums.set(flag, (sums.get(flag) ?? 0) + count);
  return sums;
}

/**
 * Of several control planes, each with the agents that report to it; an edge's two ends may be at different ones. What one
 * has answered twice counts once.
 */
export function mergeSnapshots(first: TrafficSnapshot, ...others: readonly TrafficSnapshot[]): TrafficSnapshot {
  const seen = new Set(first.planes);
  const isNew = ({ planes }: TrafficSnapshot): boolean => {
    const known = planes.some((plane) => seen.has(plane));
    for (const plane of planes) seen.add(plane);
    return !known;
  };
  const all = [first, ...others.filter(isNew)];
  const groups = Map.groupBy(
    all.flatMap(({ traffic }) => traffic),
    ({ source, destination, service, protocol, folded }) =>
      JSON.stringify([
        source.namespace,
        source.workload,
        destination.namespace,
        destination.workload,
        service,
        protocol,
        folded,
      ]),
  );
  const sum = (of: (one: TrafficSnapshot) => number): number => all.reduce((total, one) => total + of(one), 0);
  const traffic = [...groups.values()].flatMap(([edge, ...rest]) => (edge ? [rest.reduce(addEdges, edge)] : []));
  return {
    planes: [...seen],
    silentPlanes: sum(({ silentPlanes }) => silentPlanes),
    since:
      all
        .map(({ since }) => since)
        .sort()
        .at(-1) ?? first.since,
    now: first.now,
    seconds: Math.max(...all.map(({ seconds }) => seconds)),
    reporters: sum(({ reporters }) => reporters),
    edges: traffic.length,
    bytes: sum(({ bytes }) => bytes),
    foldedEdges: sum(({ foldedEdges }) => foldedEdges),
    traffic,
  };
}

function addEdges(a: EdgeTraffic, b: EdgeTraffic): EdgeTraffic {
  const side = (one: Counted | undefined, other: Counted | undefined): Counted | undefined =>
    one && other ? addCounted(one, other) : (one ?? other);
  const [bySource, byDestination] = [side(a.bySource, b.bySource), side(a.byDestination, b.byDestination)];
  const [firstSeen = ""] = [a.firstSeen, b.firstSeen].sort();
  const [, lastSeen = ""] = [a.lastSeen, b.lastSeen].sort();
  return {
    ...a,
    ...(bySource ? { bySource } : {}),
    ...(byDestination ? { byDestination } : {}),
    flags: Object.fromEntries(addFlags([a, b])),
    firstSeen,
    lastSeen,
  };
}
