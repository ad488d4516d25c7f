/** What differs in clusters between an istio-proxy build and a stock Envoy, in one place. */
import { create } from "@bufbuild/protobuf";
import { type Filter, FilterSchema } from "../gen/envoy/config/cluster/v3/filter_pb.js";
import { isHttp, isSniffed, type Profile, type Protocol } from "../model/index.ts";
import { metadataExchange } from "./build/metadata.ts";

const exchange = create(FilterSchema, { name: metadataExchange.name, typedConfig: metadataExchange.config() });

/** A stock Envoy has no metadata exchange and would reject the cluster. */
export function clusterFilters(profile: Profile): Filter[] {
  return profile === "istio-proxy" ? [exchange] : [];
}

/**
 * What Istio's mTLS offers. An istio-proxy says that it exchanges metadata, and its ALPN filter adds the HTTP version.
 * A stock Envoy names the version itself, or sniffed inbound ports would take HTTP for TCP; it must never offer the
 * exchange, because a peer that has it would write into the stream.
 */
export function meshAlpn(profile: Profile, protocol: Protocol, http2: boolean): string[] {
  if (profile === "istio-proxy")
    return http2 ? ["istio-peer-exchange", "istio", "h2"] : ["istio-peer-exchange", "istio"];
  if (http2) return ["istio-h2", "istio", "h2"];
  return isHttp(protocol) || isSniffed(protocol) ? ["istio-http/1.1", "istio"] : ["istio"];
}
