/** A pod and the node it runs on in, what every endpoint of that pod has in common out. */
import { readTextMap } from "../lib/index.ts";
import { type Endpoint, type KubeObject, type Locality, localityText, splitLocality } from "../model/index.ts";
import type { Pod } from "./pod.ts";

const networkLabel = "topology.istio.io/network";

export type WorkloadFacts = Omit<Endpoint, "addresses" | "port" | "portName" | "weight" | "health">;

export interface FactsContext {
  readonly cluster: string;
  readonly trustDomain: string;
  readonly network: string;
  node(name: string): Locality | undefined;
}

/** Without a pod nothing is known of the workload, and it does not take mTLS. */
export function workloadFacts(pod: Pod | undefined, context: FactsContext): WorkloadFacts {
  const place = pod ? podPlace(pod, context.node) : "";
  const locality = splitLocality(place);
  const network = pod?.labels[networkLabel] || context.network;
  const node = pod?.node ?? "";
  return {
    labels: augmentLabels(pod?.labels ?? {}, { cluster: context.cluster, locality, node, network }),
    locality,
    place,
    identity: pod ? `spiffe://${context.trustDomain}/ns/${pod.namespace}/sa/${pod.serviceAccount}` : "",
    namespace: pod?.namespace ?? "",
    workload: pod?.workload ?? "",
    tlsMode: tlsModeOf(pod?.labels ?? {}),
    network,
    cluster: context.cluster,
    node,
    hostname: pod?.hostname ?? "",
    subdomain: pod?.subdomain ?? "",
  };
}

function tlsModeOf(labels: Readonly<Record<string, string>>): string {
  return labels["security.istio.io/tlsMode"] ?? "disabled";
}

interface PlacedPod {
  readonly labels: Readonly<Record<string, string>>;
  readonly node: string;
}

export function podLocality(pod: PlacedPod, node: FactsContext["node"]): Locality {
  return splitLocality(podPlace(pod, node));
}

/** The label of the pod wins over those of its node. */
function podPlace(pod: PlacedPod, node: FactsContext["node"]): string {
  const label = localityLabel(pod.labels);
  if (label !== "") return localityText(label);
  const { region, zone, subZone } = (pod.node === "" ? undefined : node(pod.node)) ?? splitLocality("");
  return region === "" && zone === "" && subZone === "" ? "" : [region, zone, subZone].join("/");
}

export function localityLabel(labels: Readonly<Record<string, string>>): string {
  return labels["topology.istio.io/locality"] ?? labels["istio-locality"] ?? "";
}

export function nodeLocality(object: KubeObject): Locality {
  const labels = readTextMap(object.metadata.labels);
  return {
    region: labels["topology.kubernetes.io/region"] || labels["failure-domain.beta.kubernetes.io/region"] || "",
    zone: labels["topology.kubernetes.io/zone"] || labels["failure-domain.beta.kubernetes.io/zone"] || "",
    subZone: labels["topology.istio.io/subzone"] ?? "",
  };
}

/** Labels that subsets and locality settings may select by, beside the workload's own. */
export function augmentLabels(
  labels: Readonly<Record<string, string>>,
  where: { readonly cluster: string; readonly locality: Locality; readonly node: string; readonly network: string },
): Readonly<Record<string, string>> {
  const extra: [string, string][] = [
    ["topology.kubernetes.io/region", where.locality.region],
    ["topology.kubernetes.io/zone", where.locality.zone],
    ["topology.istio.io/subzone", where.locality.subZone],
    ["topology.istio.io/cluster", where.cluster],
    ["kubernetes.io/hostname", where.node],
    [networkLabel, where.network],
  ];
  // What a label says of the network is a choice of the workload's owner.
  const isAdded = ([key, value]: [string, string]): boolean => value !== "" && !(key === networkLabel && labels[key]);
  return { ...labels, ...Object.fromEntries(extra.filter(isAdded)) };
}
