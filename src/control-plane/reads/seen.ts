/** Rates, and whose they are to be, in; who calls it, whom it calls, and its course over time out. */
import type { EdgeName, GraphEdge, Looked, TrafficSlot } from "../../read-api/index.ts";
import {
  type EdgeTraffic,
  rowOf,
  summarizeEdges,
  type TrafficPoint,
  type TrafficSnapshot,
} from "../../traffic/index.ts";
import type { Traffic } from "../traffic/index.ts";
import { asSeen } from "./as-seen.ts";
import { edgeOf } from "./graph.ts";

/** The edges of a workload, a service or a namespace. */
export interface EdgeFilter {
  /** Whether an edge leads to it. */
  to(edge: EdgeName): boolean;
  /** Whether one comes from it; absent where it calls nobody. */
  from?(edge: EdgeName): boolean;
  readonly by: "workload" | "namespace";
}

export interface SeenOf {
  readonly callers: readonly GraphEdge[];
  readonly calls: readonly GraphEdge[];
  readonly series: readonly TrafficSlot[];
}

type Rates = Pick<Traffic, "view" | "everywhere">;

/** Nobody reads more. */
const maxEdges = 200;

export async function readSeen({ view, everywhere }: Rates, looked: Looked, of: EdgeFilter): Promise<SeenOf> {
  const snapshot = await everywhere(looked);
  return {
    callers: edges(snapshot, looked, of, (edge) => of.to(edge)),
    calls: edges(snapshot, looked, of, (edge) => of.from?.(edge) === true),
    series: (await view.series(looked, (edge) => of.to(edge))).map(slotOf),
  };
}

function edges(
  { traffic, seconds }: TrafficSnapshot,
  { sees }: Looked,
  { by }: EdgeFilter,
  matches: (edge: EdgeTraffic) => boolean,
): readonly GraphEdge[] {
  return summarizeEdges({ seconds, traffic: asSeen(traffic.filter(matches), sees) }, by)
    .map((row) => edgeOf(row, seconds))
    .sort((a, b) => b.perSecond - a.perSecond)
    .slice(0, maxEdges);
}

function slotOf({ at, seconds, traffic }: TrafficPoint): TrafficSlot {
  const { requests, connections, p50Ms, p99Ms } = rowOf({ namespace: "", name: "" }, traffic, seconds);
  return {
    at,
    perSecond: (requests.requests + connections.opened) / seconds,
    errorsPerSecond: requests.serverErrors / seconds,
    ...(p50Ms === undefined ? {} : { p50Ms }),
    ...(p99Ms === undefined ? {} : { p99Ms }),
  };
}

/** `namespace/workload`. */
export const ofWorkload = (id: string): EdgeFilter => ({
  to: ({ destination: { namespace, workload } }) => `${namespace}/${workload}` === id,
  from: ({ source: { namespace, workload } }) => `${namespace}/${workload}` === id,
  by: "workload",
});

export const ofService = (host: string): EdgeFilter => ({ to: ({ service }) => service.host === host, by: "workload" });

/** What stays within a namespace is of it too. */
export const ofNamespace = (name: string): EdgeFilter => ({
  to: ({ destination, service }) => (destination.namespace || service.namespace) === name,
  from: ({ source }) => source.namespace === name,
  by: "namespace",
});
