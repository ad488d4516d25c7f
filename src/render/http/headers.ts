/** A direction and the proxy's header settings in; what its connection managers add, keep and drop out. */

import type { Http1ProtocolOptionsSchema } from "../../gen/envoy/config/core/v3/protocol_pb.js";
import {
  HttpConnectionManager_ForwardClientCertDetails as ForwardCert,
  HttpConnectionManager_ServerHeaderTransformation as ServerHeader,
} from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { PreserveCaseFormatterConfigSchema } from "../../gen/envoy/extensions/http/header_formatters/preserve_case/v3/preserve_case_pb.js";
import { type BuildFacet, isHttp2, type ProxyConfigProxyHeaders } from "../../model/index.ts";
import { packAny } from "../build/any.ts";
import type { Fields } from "../build/fields.ts";
import type { Direction } from "../proxy/direction.ts";
import { acceptsHttp10, proxyConfig } from "../proxy/proxy-config.ts";
import type { HcmInit, SharedPlace } from "./chain.ts";

export function directionSettings(chain: SharedPlace): HcmInit {
  const { view, direction, protocol, absoluteUrls } = chain;
  const headers = proxyConfig(view.proxy).proxyHeaders ?? {};
  const http1 = http1Options(view.proxy, direction, absoluteUrls ?? false);
  return {
    ...serverHeader(headers, direction),
    ...(headers.requestId?.disabled ? { generateRequestId: false } : {}),
    ...(http1 ? { httpProtocolOptions: http1 } : {}),
    ...(direction === "inbound" && isHttp2(protocol) ? { http2ProtocolOptions: {} } : {}),
    ...(direction === "inbound" ? inboundClientCert(headers) : {}),
    ...(direction === "gateway" ? gatewayTopology(view.proxy) : {}),
  };
}

/** Sidecars call themselves `envoy` (Envoy's default) on the way out and `istio-envoy` elsewhere. */
function serverHeader(headers: ProxyConfigProxyHeaders, direction: Direction): HcmInit {
  if (headers.server?.disabled) return { serverHeaderTransformation: ServerHeader.PASS_THROUGH };
  return { serverName: headers.server?.value || (direction === "outbound" ? "" : "istio-envoy") };
}

function http1Options(
  proxy: BuildFacet,
  direction: Direction,
  allowAbsoluteUrl: boolean,
): Fields<typeof Http1ProtocolOptionsSchema> | undefined {
  const preserveCase = proxyConfig(proxy).proxyHeaders?.preserveHttp1HeaderCase === true;
  if (!preserveCase && !acceptsHttp10(proxy) && !allowAbsoluteUrl && direction !== "gateway") return undefined;
  const stateful = { name: "preserve_case", typedConfig: packAny(PreserveCaseFormatterConfigSchema, {}) };
  return {
    acceptHttp10: acceptsHttp10(proxy),
    ...(allowAbsoluteUrl ? { allowAbsoluteUrl: true } : {}),
    ...(preserveCase ? { headerKeyFormat: { headerFormat: { case: "statefulFormatter", value: stateful } } } : {}),
  };
}

const forwardCert: Readonly<Record<string, ForwardCert>> = {
  SANITIZE: ForwardCert.SANITIZE,
  FORWARD_ONLY: ForwardCert.FORWARD_ONLY,
  APPEND_FORWARD: ForwardCert.APPEND_FORWARD,
  SANITIZE_SET: ForwardCert.SANITIZE_SET,
  ALWAYS_FORWARD_ONLY: ForwardCert.ALWAYS_FORWARD_ONLY,
};

function inboundClientCert(headers: ProxyConfigProxyHeaders): HcmInit {
  const details = headers.setCurrentClientCertDetails ?? {};
  return {
    forwardClientCertDetails: forwardCert[headers.forwardedClientCert ?? ""] ?? ForwardCert.APPEND_FORWARD,
    setCurrentClientCertDetails: {
      subject: details.subject ?? true,
      uri: details.uri ?? true,
      dns: details.dns ?? true,
      cert: details.cert ?? false,
      chain: details.chain ?? false,
    },
  };
}

/** What is in front of a gateway is said by its topology; certificates are described only where they are forwarded at all. */
function gatewayTopology(proxy: BuildFacet): HcmInit {
  const topology = proxyConfig(proxy).gatewayTopology ?? {};
  const forward = forwardCert[topology.forwardClientCertDetails ?? ""] ?? ForwardCert.SANITIZE_SET;
  const describes = forward === ForwardCert.APPEND_FORWARD || forward === ForwardCert.SANITIZE_SET;
  return {
    xffNumTrustedHops: topology.numTrustedProxies ?? 0,
    forwardClientCertDetails: forward,
    ...(describes ? { setCurrentClientCertDetails: { subject: true, cert: true, dns: true, uri: true } } : {}),
  };
}
