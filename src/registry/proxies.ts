/** Pods with an `istio-proxy` container in, the proxies that would connect from them out. */
import { readList, readRecord, readText } from "../lib/index.ts";
import {
  fairleadImage,
  istioVersion,
  type KubeObject,
  type Locality,
  type Proxy,
  type ProxyConfigValues,
} from "../model/index.ts";
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

/** Of a proxy that nobody knows the version of: istiod's recorded configuration, which `render` is compared with, is made for it. */
const unknownVersion = "1.28.0";

function imageOfProxy({ spec }: KubeObject): string {
  const { containers, initContainers } = readRecord(spec);
  const proxy = [...readList(containers), ...readList(initContainers)]
    .map(readRecord)
    .find(({ name }) => name === "istio-proxy");
  return readText(proxy?.image);
}

const isOurs = (image: string): boolean => image.includes(`/${fairleadImage}:`);

/** By the tag of the proxy's image: Istio's own, or ours, whose agents say which version of Istio they stand in for. */
export function versionOfProxy(pod: KubeObject): string | undefined {
  const image = imageOfProxy(pod);
  if (isOurs(image)) return istioVersion;
  return /:v?(\d{1,3}\.\d{1,3}\.\d{1,3})(?:[-+][\w.+-]*)?$/.exec(image.replace(/@.*/, ""))?.[1];
}

/** Undefined where the pod has no proxy, or no address yet. */
export function proxyOfPod(pod: Pod, context: ProxyContext, version = unknownVersion): Proxy | undefined {
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
  const metadata = {
    ...(pod.labels.app === undefined ? {} : { WORKLOAD_NAME: pod.labels.app }),
    MESH_ID: context.domain,
    FAIRLEAD_TELEMETRY: "true",
  };
  const serviceAccount = pod.serviceAccount || "default";
  return {
    id: `${type}~${address}~${pod.name}.${pod.namespace}~${pod.namespace}.svc.${context.domain}`,
    type,
    name: pod.name,
    namespace: pod.namespace,
    addresses: pod.addresses,
    labels: augmentLabels(pod.labels, where),
    annotations: pod.annotations,
    serviceAccount,
    node: pod.node,
    locality,
    network: "",
    cluster: context.cluster,
    interception: "REDIRECT",
    proxyConfig: context.proxyConfig(pod.namespace, pod.labels, pod.annotations),
    metadata,
    allMetadata: {
      ...metadata,
      NAMESPACE: pod.namespace,
      NODE_NAME: pod.node,
      INSTANCE_IPS: pod.addresses.join(),
      SERVICE_ACCOUNT: serviceAccount,
      CLUSTER_ID: context.cluster,
      ISTIO_VERSION: version,
      INTERCEPTION_MODE: "REDIRECT",
    },
    istioVersion: version,
    profile: "istio-proxy",
  };
}

/** The same as it will say of itself when it connects, as far as its image tells: a stock Envoy of ours, or Istio's. */
export function connectingProxy(proxy: Proxy, pod: KubeObject): Proxy {
  if (isOurs(imageOfProxy(pod))) return { ...proxy, profile: "envoy" };
  const { FAIRLEAD_TELEMETRY: _, ...metadata } = proxy.metadata;
  return { ...proxy, metadata };
}

/** The sidecar of some workload that nothing is known of. */
export function plainSidecar(
  namespace: string,
  context: Pick<ProxyContext, "domain" | "cluster" | "proxyConfig">,
): Proxy {
  const { domain, cluster } = context;
  const metadata = { MESH_ID: domain };
  return {
    id: `sidecar~~.${namespace}~${namespace}.svc.${domain}`,
    type: "sidecar",
    name: "",
    namespace,
    addresses: [],
    labels: {},
    annotations: {},
    serviceAccount: "",
    node: "",
    locality: { region: "", zone: "", subZone: "" },
    network: "",
    cluster,
    interception: "REDIRECT",
    proxyConfig: context.proxyConfig(namespace, {}, {}),
    metadata,
    allMetadata: metadata,
    istioVersion: unknownVersion,
    profile: "istio-proxy",
  };
}
