/** A name in; the gateway's listener of that name out, its filter chains parts of their own. */
import { create } from "@bufbuild/protobuf";
import { TrafficDirection } from "../../gen/envoy/config/core/v3/base_pb.js";
import { FilterChainSchema } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import { ListenerSchema } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import { DownstreamTlsContextSchema } from "../../gen/envoy/extensions/transport_sockets/tls/v3/tls_pb.js";
import { compareText } from "../../lib/index.ts";
import {
  objectName,
  type Protocol,
  portByNumber,
  type ServerFacet,
  type TracedFacet,
  types,
} from "../../model/index.ts";
import { address } from "../build/address.ts";
import { brokenConstraint } from "../build/constraints.ts";
import { type ChainMatch, chainMatch } from "../build/listener-chain.ts";
import { proxyProtocol, tlsInspector } from "../build/listener-filter.ts";
import { downstreamTlsSocket } from "../build/tls.ts";
import { tracedServerFacet } from "../facets.ts";
import { isFirstHttp, preHttpFilters } from "../filters/network-filters.ts";
import type { HttpChain } from "../http/chain.ts";
import { httpConnectionManager, traced } from "../http/connection-manager.ts";
import { positive } from "../http/connection-settings.ts";
import { layerRecipe } from "../layer.ts";
import { clientScope, ruleOf } from "../outbound/client-scope.ts";
import { sniCluster } from "../outbound/cluster-name.ts";
import { delimited, statName } from "../outbound/stat-name.ts";
import { assemble, encodePart, noPart, type Part, resourceOf, samePart } from "../part.ts";
import { connectionSettings, proxyConfig } from "../proxy/proxy-config.ts";
import { keyOf, recipe, resourceRecipe, wordsOf } from "../recipe.ts";
import { accessLogs } from "../telemetry/access-log.ts";
import type { View } from "../view.ts";
import type { PassthroughChain } from "./gateway-passthrough.ts";
import {
  type GatewayChain,
  type GatewayHttpChain,
  type GatewayListener,
  type GatewayTcpChain,
  gatewayListener,
  gatewayListeners,
} from "./gateway-plan.ts";
import { serverTlsContext } from "./gateway-tls.ts";
import { anyMtls } from "./inbound-match.ts";
import { handshakeTimeout } from "./outbound.ts";
import { routeFilters, single, type TargetServices, type TcpFilters } from "./outbound-target.ts";

type GatewayView = View<ServerFacet & TracedFacet>;

const gatewayListenerOf = resourceRecipe(tracedServerFacet, types.listener, (view, key) => {
  const [name = ""] = wordsOf(key);
  const listener = gatewayListener(view, name);
  const made = (listener?.chains ?? [])
    .map((_, index) => gatewayChain(view, keyOf(name, String(index))))
    .filter(({ size }) => size > 0);
  if (!listener || made.length === 0) return undefined;
  return resourceOf(name, assemble(ListenerSchema, gatewayFrame(view, listener), "filterChains", made));
});

export const gatewayListenersLayer = layerRecipe(
  tracedServerFacet,
  "gateway listeners",
  (view) => new Map([...gatewayListeners(view).keys()].map((name) => [name, gatewayListenerOf.ref(view, keyOf(name))])),
);

const gatewayChain = recipe(
  tracedServerFacet,
  "gateway chain",
  (view, key): Part => {
    const [name = "", index = ""] = wordsOf(key);
    const listener = gatewayListener(view, name);
    const chain = listener?.chains[Number(index)];
    return chain ? chainPart(view, listener, chain, isFirstHttp(listener.chains, Number(index))) : noPart;
  },
  samePart,
);

/** Listener filters have Envoy's own timeout here: a client that says nothing must not hold a connection for ever. */
function gatewayFrame(view: GatewayView, { name, binds, port, chains }: GatewayListener) {
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

function chainPart(view: GatewayView, listener: GatewayListener, chain: GatewayChain, first: boolean): Part {
  if (chain.kind === "passthrough") return passthroughPart(view, chain);
  const { from, sniHosts, tls } = chain;
  view.mesh.graph.note(objectName("Gateway", from.meta), `spec.servers[${from.index}]`);
  const context = tls && serverTlsContext(view, tls, chain.protocol);
  // Without the demand that Envoy refuses, clients could get in whom the owner wants to keep out.
  if (context && brokenConstraint(DownstreamTlsContextSchema, context) !== undefined) return noPart;
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
  view: GatewayView,
  { name, port }: GatewayListener,
  { routeName, protocol, serverName }: GatewayHttpChain,
  first: boolean,
): TcpFilters {
  const chain: HttpChain = {
    view,
    direction: "gateway",
    protocol,
    port,
    dynamicHost: undefined,
    statPrefix: serverName || delimited(`outbound_${name}`),
    routes: { rds: routeName },
  };
  const manager = httpConnectionManager(chain, traced(view, "gateway").bytes);
  return { filters: [...(first ? preHttpFilters(view, "gateway", port) : []), manager], needs: [] };
}

function tcpFilters(view: GatewayView, chain: GatewayTcpChain): TcpFilters {
  const { port, protocol, routes, virtualService, field, tls } = chain;
  const exchange = tls?.mode === "ISTIO_MUTUAL";
  const place = { ...gatewayPlace(view, port, protocol), exchange, secured: true } as const;
  return routeFilters(place, routes, { meta: virtualService, field });
}

function gatewayPlace(view: GatewayView, port: number, protocol: Protocol) {
  const scope = clientScope(view);
  const services: TargetServices = {
    service: (name) => (name.includes("/") ? scope.service(name) : scope.serviceFor(name)),
    rule(name) {
      const key = name.includes("/") ? name : scope.keyFor(name);
      return key === undefined ? undefined : ruleOf(view, key);
    },
  };
  return { view, direction: "gateway", port, protocol, services } as const;
}

function passthroughPart(view: GatewayView, { service: key, port, protocol, subset }: PassthroughChain): Part {
  const service = clientScope(view).service(key);
  if (!service) return noPart;
  const cluster = sniCluster(service.host, port, subset);
  const pattern = view.mesh.settings().outboundClusterStatName;
  const portName = portByNumber(service.ports, port)?.name ?? "";
  const statPrefix = pattern ? statName(pattern, { service, subset, port, portName, targetPort: 0 }) : cluster;
  const place = { ...gatewayPlace(view, port, protocol), secured: false } as const;
  const filters = single(place, { name: key, cluster, statPrefix, subset, port, passesTls: true });
  return filterChain(filters, { serverNames: [cluster], applicationProtocols: anyMtls }, undefined);
}
