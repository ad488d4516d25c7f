/** A proxy's class in; its ProxyConfig, typed, and what follows from its parts, out. */
import type { BuildFacet, ProxyConfigConnectionSettings, ProxyConfigValues } from "../../model/index.ts";

/** Decoded and merged before the class was made. */
export const proxyConfig = (proxy: BuildFacet): ProxyConfigValues => proxy.proxyConfig as ProxyConfigValues;

export const acceptsHttp10 = (proxy: BuildFacet): boolean => proxy.metadata.HTTP10 === "1";

/** Envoy's advice for proxies on the edge of a network; what the user set wins. */
const edgeDefaults: ProxyConfigConnectionSettings = {
  listenerPerConnectionBufferLimitBytes: 32_768,
  httpIdleTimeout: "3600s",
  httpStreamIdleTimeout: "300s",
  httpRequestTimeout: "300s",
  httpRequestHeadersTimeout: "60s",
  httpMaxConcurrentStreams: 100,
  http2InitialStreamWindowSize: 65_536,
  http2InitialConnectionWindowSize: 1_048_576,
  httpHeadersWithUnderscoresAction: "HEADERS_WITH_UNDERSCORES_REJECT_REQUEST",
  httpMergeSlashes: true,
  httpPathWithEscapedSlashesAction: "UNESCAPE_AND_REDIRECT",
};

const unset: ReadonlySet<unknown> = new Set([
  undefined,
  "HEADERS_WITH_UNDERSCORES_UNSPECIFIED",
  "PATH_WITH_ESCAPED_SLASHES_UNSPECIFIED",
]);

export function connectionSettings(proxy: BuildFacet): ProxyConfigConnectionSettings {
  const own = proxyConfig(proxy).connectionSettings ?? {};
  const set = Object.fromEntries(Object.entries(own).filter(([, value]) => !unset.has(value)));
  return own.profile === "EDGE" && proxy.type === "router" ? { ...edgeDefaults, ...set } : set;
}

/** A proxy without the right to bind below 1024 is not given such listeners. */
export const canBind = (proxy: BuildFacet, port: number): boolean =>
  proxy.metadata.UNPRIVILEGED_POD?.toLowerCase() !== "true" || port === 0 || port >= 1024;
