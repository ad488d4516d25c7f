/** MeshConfig and ProxyConfig as their owners wrote them in, with Istio's defaults and merging rules out. */
import type { MeshConfigSpec, ProxyConfigValues } from "./kinds/index.ts";

export const defaultProxyConfig: ProxyConfigValues = {
  configPath: "./etc/istio/proxy",
  serviceCluster: "istio-proxy",
  drainDuration: "45s",
  terminationDrainDuration: "5s",
  proxyAdminPort: 15000,
  controlPlaneAuthPolicy: "MUTUAL_TLS",
  discoveryAddress: "istiod.istio-system.svc:15012",
  binaryPath: "/usr/local/bin/envoy",
  statNameLength: 189,
  statusPort: 15020,
};

export const defaultMeshConfig: MeshConfigSpec = {
  enableTracing: true,
  accessLogFile: "",
  accessLogEncoding: "TEXT",
  accessLogFormat: "",
  enableEnvoyAccessLogService: false,
  protocolDetectionTimeout: "0s",
  ingressService: "istio-ingressgateway",
  ingressControllerMode: "STRICT",
  ingressClass: "istio",
  trustDomain: "cluster.local",
  trustDomainAliases: [],
  enableAutoMtls: true,
  outboundTrafficPolicy: { mode: "ALLOW_ANY" },
  inboundTrafficPolicy: { mode: "PASSTHROUGH" },
  localityLbSetting: { enabled: true },
  certificates: [],
  defaultConfig: defaultProxyConfig,
  rootNamespace: "istio-system",
  proxyListenPort: 15001,
  proxyInboundListenPort: 15006,
  connectTimeout: "10s",
  defaultServiceExportTo: ["*"],
  defaultVirtualServiceExportTo: ["*"],
  defaultDestinationRuleExportTo: ["*"],
  dnsRefreshRate: "60s",
  serviceSettings: [],
  enablePrometheusMerge: true,
  defaultProviders: {},
  extensionProviders: [
    { name: "prometheus", prometheus: {} },
    { name: "stackdriver", stackdriver: {} },
    { name: "envoy", envoyFileAccessLog: { path: "/dev/stdout" } },
  ],
};

/** What is written replaces the default field by field, except proxy settings and default providers, which merge, and lists of providers and aliases, which add up. */
export function mergeMeshConfig(written: MeshConfigSpec, defaults: MeshConfigSpec = defaultMeshConfig): MeshConfigSpec {
  const aliases = new Set([...(defaults.trustDomainAliases ?? []), ...(written.trustDomainAliases ?? [])]);
  return {
    ...defaults,
    ...present(written),
    defaultConfig: mergeProxyConfig(written.defaultConfig ?? {}, defaults.defaultConfig),
    defaultProviders: { ...defaults.defaultProviders, ...written.defaultProviders },
    extensionProviders: mergeProviders(written.extensionProviders ?? [], defaults.extensionProviders ?? []),
    trustDomainAliases: [...aliases].sort(),
  };
}

/** Fields replace fields; proxyMetadata adds up, and proxyHeaders keep the members that the new ones leave open. */
export function mergeProxyConfig(
  written: ProxyConfigValues,
  base: ProxyConfigValues = defaultProxyConfig,
): ProxyConfigValues {
  const { proxyMetadata, proxyHeaders } = written;
  const chosen = present(written);
  // serviceCluster and tracingServiceName are one choice.
  const rest = chosen.tracingServiceName === undefined ? base : { ...base, serviceCluster: undefined };
  return present({
    ...rest,
    ...chosen,
    ...(proxyMetadata || base.proxyMetadata ? { proxyMetadata: { ...base.proxyMetadata, ...proxyMetadata } } : {}),
    ...(proxyHeaders && base.proxyHeaders ? { proxyHeaders: keptHeaders(proxyHeaders, base.proxyHeaders) } : {}),
  }) as ProxyConfigValues;
}

type ProxyHeaders = NonNullable<ProxyConfigValues["proxyHeaders"]>;

function keptHeaders(written: ProxyHeaders, base: ProxyHeaders): ProxyHeaders {
  const { forwardedClientCert, requestId, attemptCount, server, envoyDebugHeaders } = base;
  return {
    ...present({ forwardedClientCert, requestId, attemptCount, server, envoyDebugHeaders }),
    ...present(written),
  };
}

type Provider = NonNullable<MeshConfigSpec["extensionProviders"]>[number];

function mergeProviders(written: readonly Provider[], defaults: readonly Provider[]): readonly Provider[] {
  const byName = new Map(defaults.map((provider) => [provider.name, provider]));
  for (const provider of written) byName.set(provider.name, provider);
  return [...byName.values()];
}

/** Without the members that are undefined or null, which protobuf JSON reads as "not written". */
function present<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(value).filter(([, member]) => member !== undefined && member !== null),
  ) as Partial<T>;
}
