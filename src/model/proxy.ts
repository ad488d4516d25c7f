/** What the control plane knows of a proxy, and the part of it that rendering may read: the class. */
import type { Locality } from "./endpoint.ts";

export type ProxyType = "sidecar" | "router";

/** Which filters the Envoy has: an istio-proxy build, or a stock one; `grpc` for an application that is its own proxy. */
export type Profile = "istio-proxy" | "envoy" | "grpc";

/** A service port that a proxy serves itself, with the port its workload listens on. */
export interface ServiceTarget {
  readonly service: string;
  /** Tells ports of one number apart, of which one is for UDP and one for TCP. */
  readonly portName: string;
  readonly port: number;
  readonly targetPort: number;
}

/** What a part is built from that does not depend on who asks: clusters, endpoints, virtual hosts, TCP listeners. */
export interface BuildFacet {
  readonly type: ProxyType;
  readonly profile: Profile;
  readonly istioVersion: string;
  readonly ipv4: boolean;
  readonly ipv6: boolean;
  readonly cluster: string;
  readonly interception: "REDIRECT" | "TPROXY" | "NONE";
  /** Of the effective ProxyConfig (mesh defaultConfig + ProxyConfig objects + annotation) what rendering reads. */
  readonly proxyConfig: Readonly<Record<string, unknown>>;
  /** The closed list of further metadata keys that rendering reads. */
  readonly metadata: Readonly<Partial<Record<Exclude<MetadataKey, "WORKLOAD_NAME">, string>>>;
}

/** Where a proxy is: only what prefers near endpoints reads it. */
export interface PlacedFacet extends BuildFacet {
  readonly locality: Locality;
  readonly network: string;
  /** Its node: only where services with node-local traffic exist, else "". */
  readonly node: string;
  /** Labels that failover compares with those of endpoints. */
  readonly placeLabels: Readonly<Record<string, string>>;
}

/** What happens to traffic that nobody declared. */
export interface EgressFacet extends BuildFacet {
  /** Key of the Sidecar object that it is under; "" for none. */
  readonly sidecar: string;
}

/** Who asks: decides which service, rule and route is meant. */
export interface ClientFacet extends EgressFacet {
  readonly namespace: string;
  /**
   * Not the workload's labels but what client-side selectors find in them: the union of all that match, which answers
   * each such selector as the labels would.
   */
  readonly labels: Readonly<Record<string, string>>;
}

/** What filters on the way out are made from, by the keys of what applies to the proxy. */
export interface OutboundFacet extends EgressFacet {
  /** Telemetry objects, in the order in which they override. */
  readonly telemetries: readonly string[];
  /** WasmPlugins and TrafficExtensions, as `Kind/namespace/name`, in their order before priorities. */
  readonly extensions: readonly string[];
}

/** What filters on the way in are made from: the policies too that the proxy is under, by their keys and in their order. */
export interface InboundFacet extends OutboundFacet {
  readonly peerAuthentications: readonly string[];
  readonly requestAuthentications: readonly string[];
  readonly authorizationPolicies: readonly string[];
}

/** What a proxy is as a server, or as a gateway. */
export interface ServerFacet extends ClientFacet, InboundFacet {
  /** Services the proxy belongs to, oldest first. */
  readonly targets: readonly ServiceTarget[];
  /** The proxy's own addresses: only where something depends on them (headless TCP services it belongs to, capture mode NONE), else empty. */
  readonly ownAddresses: readonly string[];
  /** Keys of the Gateways that select it, oldest first. */
  readonly gateways: readonly string[];
  /** A gRPC server whose clients are told to use mTLS (label `security.istio.io/tlsMode`); false for all that have an Envoy. */
  readonly promisesMtls: boolean;
}

/** How a workload calls itself. It tells every deployment apart, so that only the tracing settings read it. */
export interface SelfNames {
  readonly canonicalName: string;
  readonly canonicalRevision: string;
  /** Labels `app.kubernetes.io/instance` and `app.kubernetes.io/name`. */
  readonly appInstance: string;
  readonly appName: string;
  readonly workload: string;
  /** What Envoy was told to call its part of the mesh. */
  readonly serviceCluster: string;
}

/** What spans say of the proxy that makes them. */
export interface TracedFacet extends OutboundFacet {
  readonly namespace: string;
  readonly self: SelfNames;
}

/**
 * Exactly what rendering may read of a proxy; frozen. It holds what labels select, never the labels, so that proxies
 * which nothing tells apart have equal classes and share everything. Parts are made from its facets.
 */
export interface ProxyClass extends ServerFacet, PlacedFacet, TracedFacet {
  readonly serviceAccount: string;
  /** Keys of the EnvoyFilters that select it. */
  readonly envoyFilters: readonly string[];
  /** Further metadata, only of keys that some EnvoyFilter for the proxy looks at. */
  readonly matchedMetadata: Readonly<Record<string, string>>;
}

export const metadataKeys = [
  "WORKLOAD_NAME",
  "MESH_ID",
  "DNS_CAPTURE",
  "DNS_AUTO_ALLOCATE",
  "HTTP10",
  "TLS_CLIENT_CERT_CHAIN",
  "TLS_CLIENT_KEY",
  "TLS_CLIENT_ROOT_CERT",
  "TLS_SERVER_CERT_CHAIN",
  "TLS_SERVER_KEY",
  "TLS_SERVER_ROOT_CERT",
  "UNPRIVILEGED_POD",
  "REQUESTED_NETWORK_VIEW",
  "ROUTER_MODE",
  "OUTLIER_LOG_PATH",
  "IDLE_TIMEOUT",
  /** Somebody beside it serves secrets whose names begin with `sds://`. */
  "credential",
  /** Its agent serves files on a socket of their own. */
  "file-credential",
  /** Its agent counts requests for it. */
  "FAIRLEAD_TELEMETRY",
] as const;
export type MetadataKey = (typeof metadataKeys)[number];

/** A proxy as it connected: identity on the wire plus what its class is derived from. */
export interface Proxy {
  readonly id: string;
  readonly type: ProxyType;
  readonly name: string;
  readonly namespace: string;
  readonly addresses: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly serviceAccount: string;
  readonly node: string;
  readonly locality: Locality;
  readonly network: string;
  readonly cluster: string;
  readonly interception: "REDIRECT" | "TPROXY" | "NONE";
  readonly proxyConfig: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Partial<Record<MetadataKey, string>>>;
  /** All metadata that is text, as the node sent it. */
  readonly allMetadata: Readonly<Record<string, string>>;
  readonly istioVersion: string;
  readonly profile: Profile;
  readonly serviceCluster?: string;
}
