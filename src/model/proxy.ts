/** What the control plane knows of a proxy, and the part of it that rendering may read: the class. */
import type { Locality } from "./endpoint.ts";

export type ProxyType = "sidecar" | "router";

/** Which filters the Envoy has: an istio-proxy build, or a stock one. */
export type Profile = "istio-proxy" | "envoy";

/** A service port that a proxy serves itself, with the port its workload listens on. */
export interface ServiceTarget {
  readonly service: string;
  readonly port: number;
  readonly targetPort: number;
}

/**
 * Exactly what rendering may read of a proxy; frozen, and the renderer's only input beside the mesh. Proxies with equal
 * classes share one rendering.
 */
export interface ProxyClass {
  readonly type: ProxyType;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly serviceAccount: string;
  /** Services the proxy belongs to, oldest first. */
  readonly targets: readonly ServiceTarget[];
  readonly locality: Locality;
  readonly network: string;
  readonly cluster: string;
  readonly ipv4: boolean;
  readonly ipv6: boolean;
  readonly interception: "REDIRECT" | "TPROXY" | "NONE";
  /** Effective ProxyConfig (mesh defaultConfig + ProxyConfig objects + annotation). */
  readonly proxyConfig: Readonly<Record<string, unknown>>;
  /** The closed list of further metadata keys that rendering reads. */
  readonly metadata: Readonly<Partial<Record<MetadataKey, string>>>;
  /** Further metadata, only of keys that some EnvoyFilter for the proxy looks at. */
  readonly matchedMetadata: Readonly<Record<string, string>>;
  readonly istioVersion: string;
  readonly profile: Profile;
  /** The proxy's own addresses: only where something depends on them (headless TCP services it belongs to, capture mode NONE), else empty. */
  readonly ownAddresses: readonly string[];
  /** Its node: only where services with node-local traffic exist, else "". */
  readonly node: string;
  /** What Envoy was told to call its part of the mesh: traces go by it. */
  readonly serviceCluster?: string;
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
