/**
 * The differences between an istio-proxy build and a stock Envoy, in one place. A stock Envoy rejects Istio's own
 * filters; what they did for the meaning of traffic is done in other ways, so that both kinds meet in one mesh.
 */
import type { BuildFacet, Protocol } from "../../model/index.ts";
import { isHttp, isSniffed } from "../../model/index.ts";

/** An application that is an xDS client itself: it has no filters, and matches a host with its port as written. */
export const isProxyless = (proxy: BuildFacet): boolean => proxy.profile === "grpc";

/** `istio.alpn`, `istio.metadata_exchange`, `istio.stats`. */
export const hasIstioFilters = (proxy: BuildFacet): boolean => proxy.profile === "istio-proxy";

/** Without `istio.stats` the agent counts, where there is one that says so. */
export const isCountedByAgent = (proxy: BuildFacet): boolean =>
  !hasIstioFilters(proxy) && proxy.metadata.FAIRLEAD_TELEMETRY === "true";

/**
 * What TCP over mTLS is answered with. A build without metadata exchange must not accept the peer's offer of it: the
 * peer would write a preamble into the stream.
 */
export const inboundTcpAlpn = (proxy: BuildFacet): readonly string[] =>
  hasIstioFilters(proxy) ? ["istio-peer-exchange", "h2", "http/1.1"] : ["h2", "http/1.1"];

/**
 * Without `istio.alpn`, mTLS sockets of clusters that may carry HTTP offer HTTP's protocols; a raw TCP stream onto such
 * a cluster says so itself, or it would be taken for HTTP at the other end.
 */
export const mustDeclareTcp = (proxy: BuildFacet, destination: Protocol): boolean =>
  !hasIstioFilters(proxy) && (isHttp(destination) || isSniffed(destination));

/**
 * What Istio's mTLS offers. An istio-proxy says that it exchanges metadata, and its ALPN filter adds the HTTP version.
 * A stock Envoy names the version itself, or sniffed inbound ports would take HTTP for TCP; it must never offer the
 * exchange, because a peer that has it would write into the stream.
 */
export function offeredAlpn(proxy: BuildFacet, protocol: Protocol, http2: boolean): string[] {
  if (hasIstioFilters(proxy)) return http2 ? ["istio-peer-exchange", "istio", "h2"] : ["istio-peer-exchange", "istio"];
  if (http2) return ["istio-h2", "istio", "h2"];
  return isHttp(protocol) || isSniffed(protocol) ? ["istio-http/1.1", "istio"] : ["istio"];
}
