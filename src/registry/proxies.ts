/** Pods with an `istio-proxy` container in, the proxies that would connect from them out. */
import type { Locality, Proxy, ProxyConfigValues } from "../model/index.ts";
import type { Pod } from "./pod.ts";
import { augmentLabels, podLocality } from "./workload.ts";

export interface ProxyContext {
  readonly domain: string;
  readonly cluster: string;
  node(name: string): Locality | undefined;
  proxyConfig(
    namespace: string,
    labels: Readonly<Record<string, string>>,
    annotations: Readonly<Record<string, string>>,
  ): ProxyConfigValues;
}

/** Undefined where the pod has no proxy, or no address yet. */
export function proxyOfPod(pod: Pod, context: ProxyContext): Proxy | undefined {
  const address = pod.addresses[0];
  if (!pod.proxyArgs || address === undefined) return undefined;
  const type = pod.proxyArgs.includes("router") ? "router" : "sidecar";
  const locality = podLocality(pod, context.node);
  const where = {
    cluster: context.cluster,
    locality,
    node: pod.node,
    network: pod.labels["topology.istio.io/network"] ?? "",
  };
  return {
    id: `${type}~${address}~${pod.name}.${pod.namespace}~${pod.namespace}.svc.${context.domain}`,
    type,
    name: pod.name,
    namespace: pod.namespace,
    addresses: pod.addresses,
    labels: augmentLabels(pod.labels, where),
    annotations: pod.annotations,
    serviceAccount: pod.serviceAccount || "default",
    node: pod.node,
    locality,
    network: "",
    cluster: context.cluster,
    interception: "REDIRECT",
    proxyConfig: context.proxyConfig(pod.namespace, pod.labels, pod.annotations),
    metadata: {
      ...(pod.labels.app === undefined ? {} : { WORKLOAD_NAME: pod.labels.app }),
      MESH_ID: context.domain,
    },
    istioVersion: "1.28.0",
    profile: "istio-proxy",
  };
}
