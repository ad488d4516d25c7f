/** Where a workload runs in; the labels about places that Istio adds to its own, one at a time, out. */
import type { Locality } from "../../model/index.ts";
import { topology } from "../traffic-policy/locality.ts";

export interface Placed {
  readonly labels: Readonly<Record<string, string>>;
  readonly locality: Locality;
  readonly cluster: string;
  readonly network: string;
  readonly node: string;
}

const places: ReadonlyMap<string, (placed: Placed) => string> = new Map([
  [topology.region, ({ locality }) => locality.region],
  [topology.zone, ({ locality }) => locality.zone],
  [topology.subZone, ({ locality }) => locality.subZone],
  [topology.cluster, ({ cluster }) => cluster],
  [topology.node, ({ node }) => node],
  [topology.network, ({ labels, network }) => labels[topology.network] || network],
]);

/** Where a workload really runs counts more than what its labels claim, except for the network. */
export function labelOf(placed: Placed, label: string): string | undefined {
  return places.get(label)?.(placed) || placed.labels[label];
}
