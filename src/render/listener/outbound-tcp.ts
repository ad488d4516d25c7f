/** A service port that is not plain HTTP, and the VirtualServices of its host, in; the TCP chains of its listener out. */
import {
  type BuildFacet,
  type Config,
  hostsOverlap,
  isTls,
  type L4MatchAttributes,
  objectId,
  type Protocol,
  type RouteDestination,
  type Service,
  type TLSMatchAttributes,
  type VirtualServiceSpec,
} from "../../model/index.ts";
import { wildcards } from "../proxy/addresses.ts";
import { nameVariants } from "../route/domains.ts";
import type { Client } from "../route/select.ts";
import type { View } from "../view.ts";
import { anyMatch, type OutboundTcpChain } from "./outbound-chain.ts";

/** Whose listeners are planned. */
export interface PlanView extends View<BuildFacet> {
  readonly client: Client;
}

export interface TcpPort {
  readonly service: Service;
  /** Hosts of ExternalName Services that stand for it. */
  readonly aliases: readonly string[];
  readonly port: number;
  readonly protocol: Protocol;
  /** Where the service is found: its address, or a range. */
  readonly place: string;
  readonly bind: string;
  /** Ranges that stand for the address where the listener is on the wildcard. */
  readonly ranges: readonly string[];
}

type VirtualServices = readonly Config<VirtualServiceSpec>[];

export function tcpChains(view: PlanView, port: TcpPort, all: VirtualServices): readonly OutboundTcpChain[] {
  const own = all.filter(({ spec }) => (spec.hosts ?? []).some((host) => hostsOverlap(host, port.service.host)));
  return isTls(port.protocol) ? tlsChains(view, port, own) : plainChains(view, port, own);
}

/** A TLS match for each set of names; without any, the service itself. */
function tlsChains(view: PlanView, port: TcpPort, virtualServices: VirtualServices): readonly OutboundTcpChain[] {
  const chains: OutboundTcpChain[] = [];
  const seen = new Set<string>();
  // As in Istio, subnets of one match hold for those after it that name none.
  let ranges = port.ranges;
  for (const { meta, spec } of virtualServices) {
    for (const [index, { match, route }] of (spec.tls ?? []).entries()) {
      if (!isRoute(route)) continue;
      for (const attributes of match ?? []) {
        if (!applies(view, attributes, port.port)) continue;
        const subnets = attributes.destinationSubnets ?? [];
        if (subnets.length > 0 && port.port > 0) ranges = subnets;
        const sniHosts = attributes.sniHosts ?? [];
        const key = `${sniHosts.join()}|${subnets.join()}`;
        if (seen.has(key)) continue;
        seen.add(key);
        const target = { routes: route, virtualService: objectId(meta), field: `spec.tls[${index}]` };
        chains.push({
          ...anyMatch,
          kind: "tcp",
          bySni: false,
          sniHosts,
          destinations: ranges,
          protocol: port.protocol,
          target,
          described: true,
        });
      }
    }
  }
  return chains.length > 0
    ? chains
    : [serviceChain({ ...port, ranges }, needsSni(view, port) ? serverNames(view, port) : [])];
}

/** Clients that know the service by another name ask for that one. */
function serverNames({ mesh, client }: PlanView, { service, aliases }: TcpPort): readonly string[] {
  return [service.host, ...aliases.flatMap((host) => [host, ...nameVariants(host, client.namespace, mesh.domain)])];
}

/**
 * The first rule that takes every address ends the search; rules for some addresses come before it. Without such a
 * rule the service itself is last.
 */
function plainChains(view: PlanView, port: TcpPort, virtualServices: VirtualServices): readonly OutboundTcpChain[] {
  const chains: OutboundTcpChain[] = [];
  const chain = { ...anyMatch, kind: "tcp" as const, bySni: false, protocol: port.protocol };
  let covered = false;
  for (const { meta, spec } of virtualServices) {
    for (const [index, { match = [], route }] of (spec.tcp ?? []).entries()) {
      if (!isRoute(route)) continue;
      const target = { routes: route, virtualService: objectId(meta), field: `spec.tcp[${index}]` };
      const matching = match.filter((attributes) => applies(view, attributes, port.port));
      const takesAll =
        match.length === 0 || matching.some((m) => (m.destinationSubnets ?? []).length === 0 || port.port === 0);
      if (takesAll) return [...chains, { ...chain, destinations: port.ranges, target, described: true }];
      const subnets = matching.flatMap((m) => m.destinationSubnets ?? []);
      if (subnets.length === 0) continue;
      chains.push({ ...chain, destinations: subnets, target, described: false });
      covered ||= sorted(subnets) === sorted(port.ranges);
    }
  }
  return covered ? chains : [...chains, serviceChain(port, [])];
}

const sorted = (words: readonly string[]): string => [...words].sort().join();

/** Rules without a destination, and with nothing but weights of zero, route nothing. */
function isRoute(route: readonly RouteDestination[] | undefined): route is readonly RouteDestination[] {
  return route !== undefined && (route.length === 1 || route.some(({ weight }) => (weight ?? 0) > 0));
}

/** On a port that a Sidecar chose freely, a service with one port is meant with that one. */
function serviceChain({ service, port, protocol, ranges }: TcpPort, sniHosts: readonly string[]): OutboundTcpChain {
  const [only] = service.ports;
  const number = only && service.ports.length === 1 ? only.port : port;
  const target = { service: service.key, port: number };
  const bySni = isDynamicWildcard(service);
  return { ...anyMatch, kind: "tcp", sniHosts, destinations: ranges, protocol, target, bySni, described: false };
}

/** The name tells services apart where the address does not: on the wildcard, and in ranges. */
function needsSni(view: PlanView, { service, place, bind, ranges }: TcpPort): boolean {
  const [wildcard] = wildcards(view.proxy);
  if (ranges.length > 0 || place.includes("/") || place === "") return true;
  return (place === wildcard && bind === wildcard) || isDynamicWildcard(service);
}

export const isDynamicWildcard = (service: Service): boolean =>
  service.host.startsWith("*") && service.resolution === "dynamic-dns";

/** What can be told without a connection: the proxy's labels and namespace, the port, and that it is no gateway. */
function applies(view: PlanView, match: L4MatchAttributes | TLSMatchAttributes, port: number): boolean {
  const { labels, namespace } = view.client;
  const gateways = match.gateways ?? [];
  return (
    (gateways.length === 0 || gateways.includes("mesh")) &&
    Object.entries(match.sourceLabels ?? {}).every(([key, value]) => labels[key] === value) &&
    (!match.port || match.port === port) &&
    (!match.sourceNamespace || match.sourceNamespace === namespace)
  );
}
