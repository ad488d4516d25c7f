/** Tells the other side of an mTLS connection, by ALPN, which HTTP version is inside: `istio.alpn`. */
import { FilterConfig_Protocol, FilterConfigSchema } from "../../gen/istio/alpn_pb.js";
import { packAny } from "../build/any.ts";
import { httpFilter } from "../build/http-filter.ts";
import { hasIstioFilters } from "../proxy/profile.ts";
import type { HttpFilterPass } from "./http-filter.ts";

/** `istio` is for peers that do not know the finer names, the last one for servers outside the mesh. */
const alpnOverride = [
  { upstreamProtocol: FilterConfig_Protocol.HTTP10, alpnOverride: ["istio-http/1.0", "istio", "http/1.0"] },
  { upstreamProtocol: FilterConfig_Protocol.HTTP11, alpnOverride: ["istio-http/1.1", "istio", "http/1.1"] },
  { upstreamProtocol: FilterConfig_Protocol.HTTP2, alpnOverride: ["istio-h2", "istio", "h2"] },
];

export const alpn: HttpFilterPass = ({ view, direction }) =>
  direction === "inbound" || !hasIstioFilters(view.proxy)
    ? []
    : [httpFilter("istio.alpn", packAny(FilterConfigSchema, { alpnOverride }))];
