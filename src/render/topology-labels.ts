/** A workload's labels and where it runs in; its labels as selectors of places see them, out. */
import type { Locality, ProxyClass } from "../model/index.ts";
import { topology } from "./traffic-policy/locality.ts";

export type Labels = Readonly<Record<string, string>>;

export interface Place {
  readonly locality: Locality;
  readonly cluster: string;
  readonly network: string;
  readonly node: string;
}

/** Where a workload really runs counts more than what its labels claim, except for the network. */
export function topologyLabels(labels: Labels, { locality, cluster, network, node }: Place): Labels {
  const places: readonly (readonly [string, string])[] = [
    [topology.region, locality.region],
    [topology.zone, locality.zone],
    [topology.subZone, locality.subZone],
    [topology.cluster, cluster],
    [topology.node, node],
    [topology.network, labels[topology.network] || network],
  ];
  return { ...labels, ...Object.fromEntries(places.filter(([, value]) => value !== "")) };
}

export function proxyLabels(proxy: ProxyClass): Labels {
  return topologyLabels(proxy.labels, proxy);
}
