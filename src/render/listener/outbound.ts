/** What was decided about outbound listeners in; the encoded listeners out: plain ones shared by all, HTTP ones each deployment's own only in what traces say. */
import { create } from "@bufbuild/protobuf";
import { TrafficDirection } from "../../gen/envoy/config/core/v3/base_pb.js";
import { FilterChainSchema, type ListenerFilter } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import { ListenerSchema } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import { compareText } from "../../lib/index.ts";
import { type OutboundFacet, types } from "../../model/index.ts";
import { address } from "../build/address.ts";
import { duration, seconds } from "../build/duration.ts";
import { additionalAddresses, chainMatch } from "../build/listener-chain.ts";
import { httpInspector, tlsInspector } from "../build/listener-filter.ts";
import { configPath, istioMetadata } from "../build/metadata.ts";
import { outboundFacet, tracedFacet } from "../facets.ts";
import { isFirstHttp, preHttpFilters } from "../filters/network-filters.ts";
import { type Manager, manager, managerPart, sameManager, traced } from "../http/connection-manager.ts";
import { delimited } from "../outbound/stat-name.ts";
import { servicePortsLeft } from "../outbound/targets.ts";
import { encodePart, joined, nested, type Part, resourceOf, samePart } from "../part.ts";
import { keyOf, recipe, resourceRecipe, wordsOf } from "../recipe.ts";
import { fill, sameTemplate, type Template, templateOf } from "../template.ts";
import type { View } from "../view.ts";
import { catchAllFilters } from "./capture.ts";
import {
  matchesAll,
  type OutboundChain,
  type OutboundHttpChain,
  type OutboundListener,
  type OutboundTcpChain,
} from "./outbound-chain.ts";
import type { FoundService } from "./outbound-refs.ts";
import { routeFilters, serviceFilters, type TargetServices } from "./outbound-target.ts";

/** Bounds what a slow TLS handshake can hold. */
export const handshakeTimeout = () => seconds(15);

/** All chains plain: nothing in it tells who the proxy is. */
export const plainListener = resourceRecipe(outboundFacet, types.listener, (view, key) =>
  resourceOf(wordsOf(key)[0] ?? "", buildListener(view, key, new Uint8Array())),
);

export const httpListener = resourceRecipe(tracedFacet, types.listener, (view, key) => {
  const tracing = traced(view, "outbound");
  return fill(httpTemplate(view, `${tracing.bytes.length} ${key}`), tracing);
});

const httpTemplate = recipe(
  outboundFacet,
  "HTTP listener",
  (view, input): Template => {
    const at = input.indexOf(" ");
    const place = new Uint8Array(Number(input.slice(0, at)));
    const key = input.slice(at + 1);
    return templateOf(wordsOf(key)[0] ?? "", buildListener(view, key, place), place);
  },
  sameTemplate,
);

/**
 * The chain that takes everything becomes the default one, so that traffic which meets some conditions of another chain
 * but not all still has a place. Without such a chain, traffic goes where undeclared traffic goes.
 */
function buildListener(view: View<OutboundFacet>, key: string, tracing: Uint8Array): Part {
  const [, written = "", found = ""] = wordsOf(key);
  const listener = JSON.parse(written) as OutboundListener;
  const { chains } = listener;
  const parts = chains.map((chain, index) => ({
    all: matchesAll(chain),
    part: chainPart(view, chainKey(listener, chain, isFirstHttp(chains, index), found), tracing),
  }));
  const matched = parts.filter(({ all }) => !all).map(({ part }) => nested(ListenerSchema, "filterChains", part));
  const fallback = parts.findLast(({ all }) => all)?.part;
  const last =
    fallback && matched.length === 0
      ? nested(ListenerSchema, "filterChains", fallback)
      : nested(ListenerSchema, "defaultFilterChain", fallback ?? undeclaredChain(view));
  return joined([outboundFrame(view, written), ...matched, last]);
}

/** The listener without its chains. */
const outboundFrame = recipe(
  outboundFacet,
  "outbound listener frame",
  (view, written): Part => encodePart(ListenerSchema, listenerFrame(view, JSON.parse(written) as OutboundListener)),
  samePart,
);

function listenerFrame(view: View<OutboundFacet>, { name, binds, port, bindToPort, chains }: OutboundListener) {
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

/** A chain as far as it is the same for all who have it; where it speaks HTTP, a connection manager is its last filter. */
interface Chain {
  readonly part: Part;
  readonly manager: Manager | undefined;
}

interface ChainInput {
  readonly listener: Pick<OutboundListener, "name" | "port">;
  readonly chain: OutboundChain;
  readonly first: boolean;
}

function chainKey({ name, port }: OutboundListener, chain: OutboundChain, first: boolean, found: string): string {
  const input: ChainInput = { listener: { name, port }, chain, first };
  return keyOf(JSON.stringify(input), chain.kind === "http" ? "[]" : found);
}

function chainPart(view: View<OutboundFacet>, key: string, tracing: Uint8Array): Part {
  const { part, manager: last } = sharedChain(view, key);
  return last ? joined([part, nested(FilterChainSchema, "filters", managerPart(last, tracing))]) : part;
}

const sharedChain = recipe(
  outboundFacet,
  "outbound chain",
  (view, key): Chain => {
    const [written = "", found = ""] = wordsOf(key);
    const { listener, chain, first } = JSON.parse(written) as ChainInput;
    if (chain.kind === "http") return httpChain(view, listener, chain, first);
    return tcpChain(view, listener.port, chain, servicesOf(view, JSON.parse(found) as FoundService[]));
  },
  (a, b) => samePart(a.part, b.part) && sameManager(a.manager, b.manager),
);

function httpChain(
  view: View<OutboundFacet>,
  { name, port }: ChainInput["listener"],
  chain: OutboundHttpChain,
  first: boolean,
): Chain {
  const message = create(FilterChainSchema, {
    filters: first ? preHttpFilters(view, "outbound", port) : [],
    transportSocketConnectTimeout: handshakeTimeout(),
    ...(matchesAll(chain) ? {} : { filterChainMatch: outboundMatch(chain) }),
  });
  return {
    part: encodePart(FilterChainSchema, message),
    manager: manager({
      view,
      direction: "outbound",
      protocol: chain.protocol,
      port,
      dynamicHost: chain.dynamicHost,
      statPrefix: delimited(`outbound_${name}`),
      routes: { rds: chain.routeName },
      absoluteUrls: chain.absoluteUrls,
    }),
  };
}

function tcpChain(view: View<OutboundFacet>, port: number, chain: OutboundTcpChain, services: TargetServices): Chain {
  const { target, protocol, described } = chain;
  const place = { view, direction: "outbound", port, protocol, services } as const;
  const { filters, needs } =
    "service" in target
      ? serviceFilters(place, target.service, target.port)
      : routeFilters(place, target.routes, { meta: target.virtualService, field: target.field });
  const object = described && "routes" in target ? target.virtualService : undefined;
  const message = create(FilterChainSchema, {
    filters: [...filters],
    transportSocketConnectTimeout: handshakeTimeout(),
    ...(matchesAll(chain) ? {} : { filterChainMatch: outboundMatch(chain) }),
    ...(object ? { metadata: istioMetadata({ config: configPath("VirtualService", object) }) } : {}),
  });
  return { part: encodePart(FilterChainSchema, message, needs), manager: undefined };
}

function servicesOf(view: View<OutboundFacet>, found: readonly FoundService[]): TargetServices {
  const named = (name: string): FoundService | undefined => found.find(([own]) => own === name);
  return {
    service(name) {
      const [, key = "", ports = ""] = named(name) ?? [];
      const service = key === "" ? undefined : view.mesh.service(key);
      return service && (ports === "" ? service : { ...service, ports: servicePortsLeft(view, service, ports) });
    },
    rule(name) {
      const [, , , ref = ""] = named(name) ?? [];
      return ref === "" ? undefined : view.mesh.rule(ref);
    },
  };
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

const undeclaredChain = recipe(
  outboundFacet,
  "undeclared traffic",
  (view): Part => {
    const { filters, needs } = catchAllFilters(view);
    const chain = create(FilterChainSchema, {
      name: "PassthroughFilterChain",
      filterChainMatch: {},
      filters: [...filters],
    });
    return encodePart(FilterChainSchema, chain, needs);
  },
  samePart,
);
