/** Rates in; what is drawn of them, and what is wrong in them, out. Bounded: the least busy are counted only. */
import type { Finding, Graph, GraphEdge, GraphNode, GraphQuestion } from "../../read-api/index.ts";
import { type EdgeRow, type GroupName, summarizeEdges, type TrafficSnapshot } from "../../traffic/index.ts";
import { asSeen } from "./as-seen.ts";
import { flagMarksOf, type Marks } from "./marks.ts";

export const [maxNodes, maxEdges] = [80, 200];
const maxMarks = 20;

export function readGraph(
  snapshot: TrafficSnapshot,
  { namespace, sees }: Omit<GraphQuestion, "lastMs">,
  marks: Marks,
): Graph {
  const { seconds } = snapshot;
  const rows = summarizeEdges(
    { seconds, traffic: asSeen(snapshot.traffic, sees) },
    namespace === "" ? "namespace" : "workload",
  )
    .map((row) => ({ ...edgeOf(row, seconds), ends: [row.source, row.destination] as const }))
    .filter(({ ends }) => namespace === "" || ends.some((end) => end.namespace === namespace))
    .sort((a, b) => b.perSecond - a.perSecond);
  const all = nodesOf(rows);
  const nodes = all.slice(0, maxNodes);
  const drawn = new Set(nodes.map(({ id }) => id));
  const edges = rows.filter(({ from, to }) => drawn.has(from) && drawn.has(to)).slice(0, maxEdges);
  return {
    nodes: nodes.map((node) => ({ ...node, marks: marks.ofPlace(node.namespace, node.name) })),
    edges: edges.map(({ ends: _, ...edge }) => ({
      ...edge,
      marks: [...edge.marks, ...edge.hosts.flatMap(marks.ofHost)].slice(0, maxMarks),
    })),
    folded: { nodes: all.length - nodes.length, edges: rows.length - edges.length },
    seconds: snapshot.seconds,
    reporters: snapshot.reporters,
    silent: snapshot.silentPlanes,
  };
}

const idOf = ({ namespace, name }: GroupName): string =>
  namespace === "" && name === "" ? "" : name === namespace ? namespace : `${namespace}/${name}`;

export function edgeOf(row: EdgeRow, seconds: number): GraphEdge {
  const { requests, connections, success, p50Ms, p99Ms } = row;
  return {
    from: idOf(row.source),
    to: idOf(row.destination),
    perSecond: (requests.requests + connections.opened) / seconds,
    requests: requests.requests,
    ...(success === undefined ? {} : { errors: 1 - success }),
    denied: requests.denied,
    ...(p50Ms === undefined ? {} : { p50Ms }),
    ...(p99Ms === undefined ? {} : { p99Ms }),
    protocols: row.protocols,
    mutualTls: row.mutualTls,
    hosts: row.hosts,
    marks: flagMarksOf(row.flags),
  };
}

/** Busiest first, by what comes and goes. */
function nodesOf(
  edges: readonly (GraphEdge & { readonly ends: readonly [GroupName, GroupName] })[],
): readonly GraphNode[] {
  const known = new Map<
    string,
    { place: GroupName; busy: number; perSecond: number; failed: number; answered: boolean }
  >();
  const at = (id: string, place: GroupName) => {
    const node = known.get(id) ?? { place, busy: 0, perSecond: 0, failed: 0, answered: false };
    known.set(id, node);
    return node;
  };
  for (const { from, to, perSecond, errors, ends } of edges) {
    at(from, ends[0]).busy += perSecond;
    const target = at(to, ends[1]);
    target.busy += perSecond;
    target.perSecond += perSecond;
    target.failed += perSecond * (errors ?? 0);
    target.answered ||= errors !== undefined;
  }
  return [...known]
    .sort(([, a], [, b]) => b.busy - a.busy)
    .map(([id, { place, perSecond, failed, answered }]) => ({
      ...{ id, namespace: place.namespace, name: place.name, perSecond, marks: [] },
      ...(answered && perSecond > 0 ? { errors: failed / perSecond } : {}),
    }));
}

/** Fewer say nothing. */
const leastRequests = 10;
const muchShare = 0.05;

/** Of the last minute. */
export function trafficFindings(snapshot: TrafficSnapshot): readonly Finding[] {
  return summarizeEdges(snapshot, "workload").flatMap(({ source, destination, hosts, requests }) => {
    if (requests.requests < leastRequests) return [];
    const pair = `${idOf(source) || "callers without a proxy"} to ${idOf(destination) || hosts.join(", ")}`;
    const say = (count: number, what: string, remedy: string): readonly Finding[] =>
      count / requests.requests < muchShare
        ? []
        : [
            {
              level: count / requests.requests >= 0.5 ? "error" : "warning",
              what,
              message: `${count} of ${requests.requests} requests from ${pair} in the last minute.`,
              remedy,
              namespaces: [source.namespace, destination.namespace].filter((name) => name !== ""),
            },
          ];
    return [
      ...say(
        requests.serverErrors,
        "answers with errors",
        "The log of the server says why; `fairlead why` tells who answers such a request.",
      ),
      ...say(requests.denied, "denied", "`fairlead why` tells which policy denies such a request."),
    ];
  });
}
