/** What a bootstrap is made from, and what its parts read of that. */
import { isIPv4, isIPv6 } from "node:net";
import type { Logger } from "../../lib/index.ts";
import type { ProxyConfigValues } from "../../model/index.ts";
import type { Node } from "./node.ts";

export interface BootstrapOptions {
  readonly node: Node;
  readonly proxyConfig: ProxyConfigValues;
  readonly addresses: readonly string[];
  readonly sdsSocket: string;
  /** Where the agent serves files alone, because another serves identities; absent: where pilot-agent would. */
  readonly fileSdsSocket?: string;
  readonly xdsSocket: string;
  /** Envoy's admin; the agent stands before it on the admin port. */
  readonly adminSocket: string;
  /** What the agent shows to its Envoy: readiness on the one, merged metrics on the other, and nothing else. */
  readonly readinessSocket: string;
  readonly mergedMetricsSocket: string;
  /** Where the agent counts requests for an Envoy that cannot itself; absent: nowhere. */
  readonly telemetrySocket?: string;
  /** `fips-140-2` and such; empty for none. */
  readonly compliancePolicy: string;
  readonly dualStack: boolean;
  readonly logAsJson: boolean;
  /** SotW where false; delta is what Istio's agent speaks. */
  readonly deltaXds: boolean;
  readonly statusProxyProtocol: boolean;
  /** Fragments of a URL are cut off unless this says otherwise. */
  readonly stripFragment: boolean;
  readonly hostIp: string;
  readonly log: Logger;
}

/** What the parts of the bootstrap read. */
export interface BootstrapContext extends BootstrapOptions {
  readonly network: Network;
  readonly statusPort: number;
  readonly prometheusPort: number;
  readonly secureMetricsPort: number;
  readonly secureMergedMetricsPort: number;
  readonly fileSdsSocket: string;
  readonly metricsOnLocalhost: boolean;
  readonly compressStats: boolean;
  readonly selfDiscovery: boolean;
}

interface Network {
  readonly localhost: string;
  readonly wildcard: string;
  readonly otherLocalhost?: string;
  readonly otherWildcard?: string;
  readonly dnsLookupFamily: "V4_ONLY" | "V6_ONLY" | "ALL";
}

export function contextOf(options: BootstrapOptions): BootstrapContext {
  const { metadata } = options.node;
  const port = (key: string): number => (typeof metadata[key] === "number" ? metadata[key] : 0);
  return {
    ...options,
    network: networkOf(options.addresses, options.dualStack),
    statusPort: port("ENVOY_STATUS_PORT"),
    prometheusPort: port("ENVOY_PROMETHEUS_PORT"),
    secureMetricsPort: port("ENVOY_SECURE_METRICS_PORT"),
    secureMergedMetricsPort: port("ENVOY_SECURE_MERGED_METRICS_PORT"),
    fileSdsSocket: metadata["file-credential"] === undefined ? "" : (options.fileSdsSocket ?? usualFileSocket),
    metricsOnLocalhost: options.proxyConfig.proxyMetadata?.METRICS_LOCALHOST_ACCESS_ONLY === "true",
    compressStats: options.proxyConfig.statsCompression ?? true,
    selfDiscovery: metadata.ENABLE_SELF_DISCOVERY === "true",
  };
}

const usualFileSocket = "./var/run/secrets/credential-uds/files-socket";

const ipv4 = { localhost: "127.0.0.1", wildcard: "0.0.0.0" };
const ipv6 = { localhost: "::1", wildcard: "::" };

/** The Pod's addresses decide; of both families, the first one leads where dual stack is on, else IPv4. */
function networkOf(addresses: readonly string[], dualStack: boolean): Network {
  if (addresses.every((address) => isIPv4(address))) return { ...ipv4, dnsLookupFamily: "V4_ONLY" };
  if (addresses.every((address) => isIPv6(address))) return { ...ipv6, dnsLookupFamily: "V6_ONLY" };
  if (!dualStack) return { ...ipv4, dnsLookupFamily: "V4_ONLY" };
  const [first, other] = isIPv6(addresses[0] ?? "") ? [ipv6, ipv4] : [ipv4, ipv6];
  return { ...first, otherLocalhost: other.localhost, otherWildcard: other.wildcard, dnsLookupFamily: "ALL" };
}
