/** Edges of a time in; for each two that talk what goes from one to the other, as rates, shares and quantiles, out. */
import type { EdgeTraffic } from "./edge.ts";
import { destinationOf, type GroupName, groupNameOf, rowOf, type Summary, type TrafficRow } from "./summary.ts";

export interface EdgeRow extends Omit<TrafficRow, "namespace" | "name"> {
  readonly source: GroupName;
  readonly destination: GroupName;
  /** Hosts that were asked for. */
  readonly hosts: readonly string[];
}

/** Callers without a proxy are one place, without names. */
export function summarizeEdges({ seconds, traffic }: Summary, by: "workload" | "namespace"): readonly EdgeRow[] {
  const groups = Map.groupBy(traffic, (edge) =>
    JSON.stringify([groupNameOf(edge.source, by), destinationOf(edge, by)]),
  );
  return [...groups.values()].map((edges) => edgeRow(edges, by, seconds));
}

function edgeRow(edges: readonly EdgeTraffic[], by: "workload" | "namespace", seconds: number): EdgeRow {
  const [first] = edges;
  const source = first ? groupNameOf(first.source, by) : nowhere;
  const destination = first ? destinationOf(first, by) : nowhere;
  const { namespace: _, name: __, ...figures } = rowOf(destination, edges, seconds);
  const hosts = [...new Set(edges.map(({ service }) => service.host).filter((host) => host !== ""))].sort();
  return { source, destination, hosts, ...figures };
}

const nowhere: GroupName = { namespace: "", name: "" };
