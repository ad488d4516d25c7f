/** The name of a cluster in; where its traffic may go out. */
import { type Cluster, Cluster_DiscoveryType as Discovery } from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import { HttpProtocolOptionsSchema } from "../../gen/envoy/extensions/upstreams/http/v3/http_protocol_options_pb.js";
import { isRecord, readText } from "../../lib/index.ts";
import type { ProxyView } from "../proxy-view.ts";
import type { HttpRequest } from "../request.ts";
import type { Hint } from "../trace.ts";
import { unpack } from "../unpack.ts";
import { type EndpointOdds, endpointOdds } from "./endpoint.ts";

export type ClusterTarget =
  | { readonly kind: "missing" }
  /** Where the caller wanted to go. */
  | { readonly kind: "original"; readonly cluster: Cluster }
  /** By a name, which is looked up when it is needed. */
  | { readonly kind: "dynamic"; readonly cluster: Cluster }
  | ({ readonly kind: "endpoints"; readonly cluster: Cluster } & EndpointOdds);

export function findCluster(proxy: ProxyView, name: string): ClusterTarget {
  const cluster = proxy.cluster(name);
  if (!cluster) return { kind: "missing" };
  const type = cluster.clusterDiscoveryType;
  if (type.case === "clusterType") return { kind: "dynamic", cluster };
  if (type.value === Discovery.ORIGINAL_DST) return { kind: "original", cluster };
  const assignment =
    type.value === Discovery.EDS
      ? proxy.endpoints(cluster.edsClusterConfig?.serviceName || name)
      : cluster.loadAssignment;
  return { kind: "endpoints", cluster, ...endpointOdds(assignment, cluster) };
}

/** Which HTTP is spoken to it. */
export function upstreamVersion(cluster: Cluster, downstream: HttpRequest["version"]): HttpRequest["version"] {
  const options = unpack(
    HttpProtocolOptionsSchema,
    cluster.typedExtensionProtocolOptions["envoy.extensions.upstreams.http.v3.HttpProtocolOptions"],
  );
  const wanted = options?.upstreamProtocolOptions;
  if (wanted?.case === "useDownstreamProtocolConfig") return downstream;
  if (wanted?.case === "explicitHttpConfig" && wanted.value.protocolConfig.case === "http2ProtocolOptions")
    return "HTTP/2";
  return "HTTP/1.1";
}

const configPath = /\/namespaces\/([^/]*)\/([^/]*)\/([^/]*)$/;
const kinds: ReadonlyMap<string, string> = new Map([
  ["virtual-service", "VirtualService"],
  ["destination-rule", "DestinationRule"],
  ["http-route", "HTTPRoute"],
  ["grpc-route", "GRPCRoute"],
]);

/** The object that Istio's metadata names. */
export function configHint(
  metadata: { readonly filterMetadata: Readonly<Record<string, unknown>> } | undefined,
): readonly Hint[] {
  const istio = metadata?.filterMetadata.istio;
  const [, namespace, kind = "", name] = configPath.exec(readText(isRecord(istio) ? istio.config : "")) ?? [];
  const known = kinds.get(kind);
  return known ? [{ object: `${known}/${namespace}/${name}` }] : [];
}

export function istioText(
  metadata: { readonly filterMetadata: Readonly<Record<string, unknown>> } | undefined,
  key: string,
): string {
  const istio = metadata?.filterMetadata.istio;
  return readText(isRecord(istio) ? istio[key] : "");
}
