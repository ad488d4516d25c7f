/** What a proxy said of itself on connecting, and what the registry knows of its Pod, in; the Proxy that is classified out. */
import { decodeProxyConfig } from "../config/index.ts";
import { FairleadError, isRecord } from "../lib/index.ts";
import type { Mesh } from "../mesh/index.ts";
import {
  type Identity,
  type Locality,
  type MetadataKey,
  metadataKeys,
  type Profile,
  type Proxy,
  type ProxyConfigValues,
} from "../model/index.ts";
import { proxyOfPod, type Registry } from "../registry/index.ts";
import { type NodeId, type ProxyNode, parseNodeId } from "../xds/index.ts";

export interface NodeContext {
  readonly mesh: Mesh;
  readonly registry: Registry;
  readonly domain: string;
  readonly cluster: string;
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** Without an identity nobody has proven anything: then the proxy has no account, and so no secrets. */
export function proxyOfNode(node: ProxyNode, context: NodeContext, identity?: Identity): Proxy {
  const id = parseNodeId(node.id);
  if (!id || (id.type !== "sidecar" && id.type !== "router"))
    throw new FairleadError("invalid", `node ${node.id}: only sidecars and routers are served`);
  const namespace = text(node.metadata.NAMESPACE) || id.namespace;
  const labels = texts(node.metadata.LABELS);
  const annotations = texts(node.metadata.ANNOTATIONS);
  const known = podProxy(context, namespace, id.name);
  return {
    id: node.id,
    type: id.type,
    name: id.name,
    namespace,
    addresses: addressesOf(node, id),
    // The registry's labels are the Pod's own and win over what the proxy believed when it started.
    labels: known?.labels ?? labels,
    annotations,
    serviceAccount: identity?.serviceAccount ?? "",
    node: text(node.metadata.NODE_NAME) || known?.node || "",
    locality: hasLocality(node.locality) ? node.locality : (known?.locality ?? node.locality),
    network: text(node.metadata.NETWORK) || known?.network || "",
    cluster: text(node.metadata.CLUSTER_ID) || context.cluster,
    interception: interceptionOf(text(node.metadata.INTERCEPTION_MODE)),
    proxyConfig: proxyConfigOf(node, context, namespace, labels, annotations),
    metadata: keptMetadata(node),
    allMetadata: texts(node.metadata),
    // Patterns of EnvoyFilters are compared with it.
    istioVersion: text(node.metadata.ISTIO_VERSION).slice(0, 64),
    profile: profileOf(node),
    ...(node.cluster ? { serviceCluster: node.cluster } : {}),
  };
}

/** An application that speaks xDS itself says so. A client that lists no extensions is taken for an istio-proxy; one that does must have Istio's own filters among them. */
function profileOf(node: ProxyNode): Profile {
  if (node.metadata.GENERATOR === "grpc") return "grpc";
  if (node.extensions.size === 0) return "istio-proxy";
  return [...node.extensions].some((name) => name === "istio.stats" || name.endsWith(".istio_stats"))
    ? "istio-proxy"
    : "envoy";
}

function podProxy(context: NodeContext, namespace: string, name: string): Proxy | undefined {
  const pod = context.registry.pods.get(`${namespace}/${name}`);
  if (!pod) return undefined;
  return proxyOfPod(
    { ...pod, proxyArgs: pod.proxyArgs ?? [] },
    {
      domain: context.domain,
      cluster: context.cluster,
      node: (node) => context.registry.nodes.get(node),
      proxyConfig: context.mesh.proxyConfig,
    },
  );
}

function proxyConfigOf(
  node: ProxyNode,
  context: NodeContext,
  namespace: string,
  labels: Readonly<Record<string, string>>,
  annotations: Readonly<Record<string, string>>,
): ProxyConfigValues {
  const sent = node.metadata.PROXY_CONFIG;
  const own = isRecord(sent) ? decodeProxyConfig(JSON.stringify(sent)).ok : undefined;
  return own ?? context.mesh.proxyConfig(namespace, labels, annotations);
}

export function addressesOf(node: ProxyNode, id: NodeId): readonly string[] {
  const listed = text(node.metadata.INSTANCE_IPS)
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "");
  return listed.length > 0 ? listed : [id.ip];
}

function keptMetadata(node: ProxyNode): Partial<Record<MetadataKey, string>> {
  const kept: Partial<Record<MetadataKey, string>> = {};
  for (const key of metadataKeys) {
    const value = node.metadata[key];
    if (typeof value === "string" && value !== "") kept[key] = value;
  }
  return kept;
}

function texts(value: unknown): Readonly<Record<string, string>> {
  return isRecord(value) ? Object.fromEntries(Object.entries(value).filter(isText)) : {};
}

const isText = (entry: [string, unknown]): entry is [string, string] => typeof entry[1] === "string";

const hasLocality = (locality: Locality): boolean => locality.region !== "";

function interceptionOf(mode: string): Proxy["interception"] {
  return mode === "NONE" || mode === "TPROXY" ? mode : "REDIRECT";
}
