/** A name in; the outbound listener of that name out, its filter chains parts of their own. */
import { create, toBinary } from "@bufbuild/protobuf";
import { TrafficDirection } from "../gen/envoy/config/core/v3/base_pb.js";
import {
  type Filter,
  type FilterChain,
  FilterChainSchema,
  type ListenerFilter,
} from "../gen/envoy/config/listener/v3/listener_components_pb.js";
import { ListenerSchema } from "../gen/envoy/config/listener/v3/listener_pb.js";
import { compareText } from "../lib/index.ts";
import { assemble } from "./assemble.ts";
import { address } from "./build/address.ts";
import { duration, seconds } from "./build/duration.ts";
import { additionalAddresses, chainMatch } from "./build/listener-chain.ts";
import { httpInspector, tlsInspector } from "./build/listener-filter.ts";
import { configPath, istioMetadata } from "./build/metadata.ts";
import { delimited } from "./cluster-stat-name.ts";
import { isFirstHttp, preHttpFilters } from "./filters/network-filters.ts";
import { httpConnectionManager } from "./http-connection-manager.ts";
import { catchAllFilters } from "./listener-capture.ts";
import { matchesAll, type OutboundChain, type OutboundListener } from "./listener-outbound-chain.ts";
import { outboundListener } from "./listener-outbound-plan.ts";
import { routeTarget, serviceTarget, type TcpFilters } from "./listener-outbound-target.ts";
import { encodePart, type Part, type View } from "./view.ts";

/** Bounds what a slow TLS handshake can hold. */
export const handshakeTimeout = () => seconds(15);

export function renderOutboundListener(view: View, name: string): Part | undefined {
  const listener = outboundListener(view, name);
  return listener && buildOutboundListener(view, listener, (index) => outboundListener(view, name)?.chains[index]);
}

/**
 * The chain that takes everything becomes the default one, so that traffic which meets some conditions of another chain
 * but not all still has a place. Without such a chain, traffic goes where undeclared traffic goes.
 */
export function buildOutboundListener(
  view: View,
  listener: OutboundListener,
  chainAt: (index: number) => OutboundChain | undefined,
): Part {
  const { name, chains } = listener;
  const parts = chains.map((chain, index) => ({
    all: matchesAll(chain),
    part: view.part(`listener|${name}|${index}`, () => {
      const current = chainAt(index);
      const isFirst = isFirstHttp([...chains.keys()].map(chainAt), index);
      return current
        ? chainPart(view, listener, current, isFirst)
        : encodePart(FilterChainSchema, create(FilterChainSchema, {}));
    }),
  }));
  const matched = parts.filter(({ all }) => !all).map(({ part }) => part);
  const fallback = parts.findLast(({ all }) => all)?.part;
  const frame = outboundFrame(view, listener);
  if (fallback && matched.length === 0) return assemble(ListenerSchema, frame, "filterChains", [fallback]);
  const withChains = assemble(ListenerSchema, frame, "filterChains", matched);
  const last = assemble(ListenerSchema, create(ListenerSchema, {}), "defaultFilterChain", [
    fallback ?? undeclaredChain(view),
  ]);
  return {
    bytes: Buffer.concat([withChains.bytes, last.bytes]),
    needs: [...new Set([...withChains.needs, ...last.needs])],
  };
}

function outboundFrame(view: View, { name, binds, port, bindToPort, chains }: OutboundListener) {
  const [bind, ...more] = binds;
  const sniffsHttp = chains.some(({ applicationProtocols }) => applicationProtocols.length > 0);
  const listenerFilters: ListenerFilter[] = [
    ...(chains.some(readsSni) ? [tlsInspector()] : []),
    ...(sniffsHttp ? [httpInspector()] : []),
  ];
  // Without sniffing there is nothing to wait for.
  const timeout = sniffsHttp ? duration(view.mesh.settings().protocolDetectionTimeout) : seconds(0);
  return create(ListenerSchema, {
    name,
    address: address(bind, port),
    additionalAddresses: additionalAddresses(more, port),
    trafficDirection: TrafficDirection.OUTBOUND,
    continueOnListenerFiltersTimeout: true,
    listenerFilters,
    ...(timeout ? { listenerFiltersTimeout: timeout } : {}),
    ...(bindToPort ? { maxConnectionsToAcceptPerSocketEvent: 1 } : { bindToPort: false }),
  });
}

const readsSni = (chain: OutboundChain): boolean => chain.sniHosts.length > 0 || (chain.kind === "tcp" && chain.bySni);

function chainPart(view: View, listener: OutboundListener, chain: OutboundChain, first: boolean): Part {
  const { filters, needs } =
    chain.kind === "http" ? httpFilters(view, listener, chain, first) : tcpFilters(view, listener, chain);
  const described =
    chain.kind === "tcp" && chain.described && "routes" in chain.target ? chain.target.virtualService : undefined;
  const message: FilterChain = create(FilterChainSchema, {
    filters: [...filters],
    transportSocketConnectTimeout: handshakeTimeout(),
    ...(matchesAll(chain) ? {} : { filterChainMatch: outboundMatch(chain) }),
    ...(described ? { metadata: istioMetadata({ config: configPath("VirtualService", described) }) } : {}),
  });
  return { bytes: toBinary(FilterChainSchema, message), needs };
}

function outboundMatch({ sniHosts, destinations, applicationProtocols, transport }: Omit<OutboundChain, "kind">) {
  const serverNames = sniHosts.includes("*") ? [] : [...sniHosts].sort(compareText);
  return chainMatch({
    serverNames,
    destinations: [...destinations].sort(compareText),
    applicationProtocols,
    transport,
  });
}

function httpFilters(
  view: View,
  { name, port }: OutboundListener,
  chain: Extract<OutboundChain, { kind: "http" }>,
  first: boolean,
): TcpFilters {
  const manager: Filter = httpConnectionManager({
    view,
    direction: "outbound",
    protocol: chain.protocol,
    port,
    dynamicHost: chain.dynamicHost,
    statPrefix: delimited(`outbound_${name}`),
    routes: { rds: chain.routeName },
    absoluteUrls: chain.absoluteUrls,
  });
  return { filters: [...(first ? preHttpFilters(view, "outbound", port) : []), manager], needs: [] };
}

function tcpFilters(
  view: View,
  { port }: OutboundListener,
  { target, protocol }: Extract<OutboundChain, { kind: "tcp" }>,
): TcpFilters {
  const place = { port, protocol };
  if ("service" in target) return serviceTarget(view, target.service, target.port, place);
  return routeTarget(view, target.routes, { meta: target.virtualService, field: target.field }, place);
}

function undeclaredChain(view: View): Part {
  return view.part("listener|undeclared", () => {
    const { filters, needs } = catchAllFilters(view);
    const chain = create(FilterChainSchema, {
      name: "PassthroughFilterChain",
      filterChainMatch: {},
      filters: [...filters],
    });
    return encodePart(FilterChainSchema, chain, needs);
  });
}
