/** Ingresses that are ours, and the gateway that serves them, in; where they are reached, as their statuses, out. */
import { isIP } from "node:net";
import type { Collection, Graph } from "../collections/index.ts";
import { readList, readRecord, readText, readTexts, sortBy } from "../lib/index.ts";
import type { KubeObject, MeshConfigSpec } from "../model/index.ts";
import type { ObjectStatus } from "./gateway-api/status.ts";
import { gatewayNamespace, ingressSelector } from "./ingress.ts";

export interface IngressStatusInputs {
  readonly ingresses: Collection<KubeObject>;
  readonly services: Collection<KubeObject>;
  readonly pods: Collection<KubeObject>;
  readonly nodes: Collection<KubeObject>;
  settings(): MeshConfigSpec;
}

/** By `Ingress/namespace/name`. */
export function createIngressStatuses(graph: Graph, inputs: IngressStatusInputs): Collection<ObjectStatus> {
  const byLabel = graph.index(inputs.pods, "gateway", ({ metadata }) => {
    const label = metadata.namespace === gatewayNamespace ? metadata.labels?.["istio"] : undefined;
    return label === undefined ? [] : [label];
  });
  const addresses = graph.memo<readonly string[]>("ingress addresses", () => {
    const { ingressService = "" } = inputs.settings();
    if (ingressService !== "") return serviceAddresses(inputs.services.get(`${gatewayNamespace}/${ingressService}`));
    const pods = byLabel.get(ingressSelector(inputs.settings())).flatMap((key) => inputs.pods.get(key) ?? []);
    return nodeAddresses(pods, (name) => inputs.nodes.get(name));
  });
  return graph.derive<KubeObject, ObjectStatus>("ingress statuses", inputs.ingresses, ({ metadata }, key) => [
    [
      `Ingress/${key}`,
      {
        group: "networking.k8s.io",
        kind: "Ingress",
        namespace: metadata.namespace ?? "default",
        name: metadata.name,
        status: { loadBalancer: loadBalancer(addresses.get("")) },
      },
    ],
  ]);
}

function serviceAddresses(service: KubeObject | undefined): readonly string[] {
  const spec = readRecord(service?.spec);
  if (readText(spec.type) === "ExternalName") return [readText(spec.externalName)];
  const balancer = readList(readRecord(readRecord(service?.status).loadBalancer).ingress).map(readRecord);
  return [...balancer.map(({ ip, hostname }) => readText(ip) || readText(hostname)), ...readTexts(spec.externalIPs)];
}

/** The outer addresses of the node that the first running gateway is on. */
function nodeAddresses(
  pods: readonly KubeObject[],
  nodeOf: (name: string) => KubeObject | undefined,
): readonly string[] {
  for (const pod of pods) {
    const node = nodeOf(readText(readRecord(pod.spec).nodeName));
    if (!node || readText(readRecord(pod.status).phase) !== "Running") continue;
    const outer = readList(readRecord(node.status).addresses)
      .map(readRecord)
      .filter(({ type }) => type === "ExternalIP");
    return [...new Set(outer.map(({ address }) => readText(address)))];
  }
  return [];
}

function loadBalancer(addresses: readonly string[]): Readonly<Record<string, unknown>> {
  const entries = addresses
    .filter((address) => address !== "")
    .map((address) => (isIP(address) ? { ip: address } : { hostname: address }));
  const sorted = sortBy(
    entries,
    (entry) => entry.hostname ?? "",
    (entry) => entry.ip ?? "",
  );
  return sorted.length > 0 ? { ingress: sorted } : {};
}
