/** A name in; the gateway's listener of that name out, its filter chains parts of their own. */
import { create } from "@bufbuild/protobuf";
import { TrafficDirection } from "../gen/envoy/config/core/v3/base_pb.js";
import { FilterChainSchema } from "../gen/envoy/config/listener/v3/listener_components_pb.js";
import { ListenerSchema } from "../gen/envoy/config/listener/v3/listener_pb.js";
import { DownstreamTlsContextSchema } from "../gen/envoy/extensions/transport_sockets/tls/v3/tls_pb.js";
import { compareText } from "../lib/index.ts";
import { objectName } from "../model/index.ts";
import { assemble } from "./assemble.ts";
import { address } from "./build/address.ts";
import { brokenConstraint } from "./build/constraints.ts";
import { type ChainMatch, chainMatch } from "./build/listener-chain.ts";
import { proxyProtocol, tlsInspector } from "./build/listener-filter.ts";
import { downstreamTlsSocket } from "./build/tls.ts";
import { clientScope } from "./client-scope.ts";
import { sniCluster } from "./cluster-name.ts";
import { delimited, statName } from "./cluster-stat-name.ts";
import { positive } from "./connection-settings.ts";
import { isFirstHttp, preHttpFilters } from "./filters/network-filters.ts";
import { httpConnectionManager } from "./http-connection-manager.ts";
import type { PassthroughChain } from "./listener-gateway-passthrough.ts";
import {
  type GatewayChain,
  type GatewayHttpChain,
  type GatewayListener,
  type GatewayTcpChain,
  gatewayListener,
  gatewayListeners,
} from "./listener-gateway-plan.ts";
import { serverTlsContext } from "./listener-gateway-tls.ts";
import { anyMtls } from "./listener-inbound-match.ts";
import { handshakeTimeout } from "./listener-outbound.ts";
import { routeTarget, single, type TcpFilters } from "./listener-outbound-target.ts";
import { connectionSettings, proxyConfig } from "./proxy-config.ts";
import { accessLogs } from "./telemetry/access-log.ts";
import { encodePart, type Part, type View } from "./view.ts";

export const gatewayListenerNames = (view: View): readonly string[] => [...gatewayListeners(view).keys()];

export function renderGatewayListener(view: View, name: string): Part | undefined {
  const listener = gatewayListener(view, name);
  if (!listener) return undefined;
  const parts = listener.chains.map((_, index) =>
    view.part(`listener|${name}|${index}`, () => {
      const current = gatewayListener(view, name);
      const chain = current?.chains[index];
      return chain ? chainPart(view, listener, chain, isFirstHttp(current.chains, index)) : noChain;
    }),
  );
  const made = parts.filter(({ bytes }) => bytes.length > 0);
  return made.length === 0 ? undefined : assemble(ListenerSchema, gatewayFrame(view, listener), "filterChains", made);
}

/** Nothing serves what cannot be served as its owner wants it; other chains are not held up by it. */
const noChain: Part = { bytes: new Uint8Array(), needs: [] };

/** Listener filters have Envoy's own timeout here: a client that says nothing must not hold a connection for ever. */
function gatewayFrame(view: View, { name, binds, port, chains }: GatewayListener) {
  const speaksProxy = proxyConfig(view.proxy).gatewayTopology?.proxyProtocol !== undefined;
  const bufferLimit = positive(connectionSettings(view.proxy).listenerPerConnectionBufferLimitBytes);
  return create(ListenerSchema, {
    name,
    address: address(binds[0], port),
    trafficDirection: TrafficDirection.OUTBOUND,
    maxConnectionsToAcceptPerSocketEvent: 1,
    listenerFilters: [...(speaksProxy ? [proxyProtocol()] : []), ...(chains.some(looksAtTls) ? [tlsInspector()] : [])],
    accessLog: accessLogs(view, "gateway", "listener"),
    ...(bufferLimit === undefined ? {} : { perConnectionBufferLimitBytes: bufferLimit }),
  });
}

const looksAtTls = (chain: GatewayChain): boolean =>
  chain.kind === "passthrough" || chain.sniHosts.length > 0 || chain.tls !== undefined;

function chainPart(view: View, listener: GatewayListener, chain: GatewayChain, first: boolean): Part {
  if (chain.kind === "passthrough") return passthroughPart(view, chain);
  const { from, sniHosts, tls } = chain;
  view.mesh.graph.note(objectName("Gateway", from.meta), `spec.servers[${from.index}]`);
  const context = tls && serverTlsContext(view, tls, chain.protocol);
  // Without the demand that Envoy refuses, clients could get in whom the owner wants to keep out.
  if (context && brokenConstraint(DownstreamTlsContextSchema, context) !== undefined) return noChain;
  const { filters, needs } =
    chain.kind === "http" ? httpFilters(view, listener, chain, first) : tcpFilters(view, chain);
  const match =
    sniHosts.length === 0 || sniHosts.includes("*") ? undefined : { serverNames: [...sniHosts].sort(compareText) };
  return filterChain({ filters, needs }, match, context && downstreamTlsSocket(context));
}

function filterChain(
  { filters, needs }: TcpFilters,
  match: ChainMatch | undefined,
  transportSocket: ReturnType<typeof downstreamTlsSocket> | undefined,
): Part {
  const chain = create(FilterChainSchema, {
    filters: [...filters],
    transportSocketConnectTimeout: handshakeTimeout(),
    ...(match ? { filterChainMatch: chainMatch(match) } : {}),
    ...(transportSocket ? { transportSocket } : {}),
  });
  return encodePart(FilterChainSchema, chain, needs);
}

function httpFilters(
  view: View,
  { name, port }: GatewayListener,
  { routeName, protocol, serverName }: GatewayHttpChain,
  first: boolean,
): TcpFilters {
  const manager = httpConnectionManager({
    view,
    direction: "gateway",
    protocol,
    port,
    dynamicHost: undefined,
    statPrefix: serverName || delimited(`outbound_${name}`),
    routes: { rds: routeName },
  });
  return { filters: [...(first ? preHttpFilters(view, "gateway", port) : []), manager], needs: [] };
}

function tcpFilters(view: View, chain: GatewayTcpChain): TcpFilters {
  const { port, protocol, routes, virtualService, field, tls } = chain;
  const place = { port, protocol, exchange: tls?.mode === "ISTIO_MUTUAL", secured: true };
  return routeTarget(view, routes, { meta: virtualService, field }, place);
}

function passthroughPart(view: View, { service: key, port, protocol, subset }: PassthroughChain): Part {
  const service = clientScope(view).service(key);
  if (!service) return noChain;
  const cluster = sniCluster(service.host, port, subset);
  const pattern = view.mesh.settings().outboundClusterStatName;
  const portName = service.ports.find((candidate) => candidate.port === port)?.name ?? "";
  const statPrefix = pattern ? statName(pattern, { service, subset, port, portName, targetPort: 0 }) : cluster;
  const filters = single(view, {
    service,
    cluster,
    statPrefix,
    subset,
    port,
    place: { port, protocol },
    passesTls: true,
  });
  return filterChain(filters, { serverNames: [cluster], applicationProtocols: anyMtls }, undefined);
}
