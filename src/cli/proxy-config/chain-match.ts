/** A filter chain's match in; its conditions, in few words, out. Source conditions are not told. */
import type { FilterChainMatch } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";

/** Lists of application protocols that Istio sets, under the names that istioctl gives them. */
const knownProtocols: ReadonlyMap<string, string> = new Map([
  ["http/1.0,http/1.1,h2c", "HTTP"],
  ["http/1.0,http/1.1,h2c,istio-http/1.0,istio-http/1.1,istio-h2", "HTTP TLS"],
  ["istio,istio-http/1.0,istio-http/1.1,istio-h2", "Istio HTTP Plain"],
  ["istio-peer-exchange,istio", "TCP TLS"],
]);

export function describeChainMatch(match: FilterChainMatch | undefined): string {
  if (!match) return "ALL";
  const protocols = match.applicationProtocols.join(",");
  const ranges = match.prefixRanges.map((range) => `${range.addressPrefix}/${range.prefixLen ?? 0}`).join(",");
  const port = match.destinationPort === undefined ? "" : `:${match.destinationPort}`;
  const conditions: readonly (readonly [string, string])[] = [
    ["SNI", match.serverNames.join(",")],
    ["Trans", match.transportProtocol],
    ["App", knownProtocols.get(protocols) ?? protocols],
    ["Addr", ranges === "" && port === "" ? "" : `${ranges || "*"}${port}`],
  ];
  const told = conditions.filter(([, value]) => value !== "").map(([name, value]) => `${name}: ${value}`);
  return told.join("; ") || "ALL";
}
