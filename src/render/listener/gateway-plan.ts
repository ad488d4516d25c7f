/** A gateway's merged servers in; its listeners and their chains, as plain data, out. */
import {
  type Config,
  hostsOverlap,
  isHttp,
  type L4MatchAttributes,
  type ObjectId,
  objectId,
  type Protocol,
  parseProtocol,
  type RouteDestination,
  type ServerFacet,
  type VirtualServiceSpec,
} from "../../model/index.ts";
import { serverFacet } from "../facets.ts";
import {
  type BoundServer,
  type GatewayPort,
  isPassthrough,
  mergedGateways,
  terminatesHttps,
  tlsMode,
} from "../gateway/servers.ts";
import { wildcards } from "../proxy/addresses.ts";
import { canBind } from "../proxy/proxy-config.ts";
import { recipe } from "../recipe.ts";
import type { View } from "../view.ts";
import { autoPassthroughChains, type PassthroughChain } from "./gateway-passthrough.ts";

export interface GatewayListener {
  readonly name: string;
  readonly binds: readonly [string, ...string[]];
  readonly port: number;
  readonly chains: readonly GatewayChain[];
}

export interface GatewayHttpChain {
  readonly kind: "http";
  readonly sniHosts: readonly string[];
  readonly routeName: string;
  readonly protocol: Protocol;
  /** Names the statistics where the user named the server. */
  readonly serverName: string;
  /** Terminates TLS with this server's settings. */
  readonly tls: BoundServer["server"]["tls"];
  readonly from: BoundServer;
}

export interface GatewayTcpChain {
  readonly kind: "tcp";
  readonly sniHosts: readonly string[];
  readonly protocol: Protocol;
  /** Of the server, not of the listener. */
  readonly port: number;
  readonly tls: BoundServer["server"]["tls"];
  readonly routes: readonly RouteDestination[];
  readonly virtualService: ObjectId;
  readonly field: string;
  readonly from: BoundServer;
}

export type GatewayChain = GatewayHttpChain | GatewayTcpChain | PassthroughChain;

/** By name. Servers of different protocols can share an address: their chains follow each other. */
export const gatewayListeners = recipe(
  serverFacet,
  "gateway listener plan",
  (view): ReadonlyMap<string, GatewayListener> => {
    const listeners = new Map<string, GatewayListener>();
    const sni = createSniClaims();
    for (const port of mergedGateways(view).ports) {
      if (!canBind(view.proxy, port.number)) continue;
      const bind = port.bind || wildcards(view.proxy)[0];
      const name = `${bind}_${port.number}`;
      const chains = [...(listeners.get(name)?.chains ?? []), ...portChains(view, port, sni)];
      listeners.set(name, { name, binds: [bind], port: port.number, chains });
    }
    for (const [name, { chains }] of listeners) if (chains.length === 0) listeners.delete(name);
    return listeners;
  },
);

/** One alone: its readers are left alone when others change. */
export const gatewayListener = recipe(serverFacet, "gateway listener", (view, name): GatewayListener | undefined =>
  gatewayListeners(view).get(name),
);

type SniClaims = (port: number, bind: string, hosts: readonly string[]) => boolean;

function portChains(view: View<ServerFacet>, port: GatewayPort, sni: SniClaims): readonly GatewayChain[] {
  const [first] = port.servers;
  if (isHttp(port.protocol)) {
    if (!first) return [];
    const plain = { kind: "http" as const, sniHosts: [], routeName: port.routeName, serverName: "", tls: undefined };
    return [{ ...plain, protocol: port.protocol, from: first }];
  }
  return port.servers.flatMap((bound) => serverChains(view, bound, port.number, sni));
}

function serverChains(
  view: View<ServerFacet>,
  bound: BoundServer,
  listenerPort: number,
  sni: SniClaims,
): readonly GatewayChain[] {
  const { server, protocol, sniHosts, routeName } = bound;
  if (terminatesHttps(bound)) {
    return [
      { kind: "http", sniHosts, routeName, protocol, serverName: server.name ?? "", tls: server.tls, from: bound },
    ];
  }
  if (tlsMode(server) === "AUTO_PASSTHROUGH" && server.tls) return autoPassthroughChains(view, sniHosts);
  return isPassthrough(server) ? tlsRoutes(view, bound, listenerPort, sni) : tcpRoutes(view, bound);
}

/** The first rule that is for this server takes all. */
function tcpRoutes(view: View<ServerFacet>, bound: BoundServer): readonly GatewayTcpChain[] {
  for (const { meta, spec } of layer4(view, bound)) {
    const index = (spec.tcp ?? []).findIndex(({ match, route }) => isRoute(route) && matchesAny(match, bound));
    const rule = spec.tcp?.[index];
    if (rule?.route) return [tcpChain(bound, bound.sniHosts, rule.route, objectId(meta), `spec.tcp[${index}]`)];
    // TLSRoutes that end TLS at the gateway have no rules for TCP.
    if (!meta.annotations?.["internal.istio.io/parents"]?.startsWith("TLSRoute/")) continue;
    const tls = (spec.tls ?? []).findIndex(
      ({ match, route }) => isRoute(route) && (match ?? []).some((one) => isFor(one, bound)),
    );
    const ended = spec.tls?.[tls];
    if (ended?.route) return [tcpChain(bound, bound.sniHosts, ended.route, objectId(meta), `spec.tls[${tls}]`)];
  }
  return [];
}

function tlsRoutes(
  view: View<ServerFacet>,
  bound: BoundServer,
  listenerPort: number,
  sni: SniClaims,
): readonly GatewayTcpChain[] {
  const chains: GatewayTcpChain[] = [];
  for (const { meta, spec } of layer4(view, bound)) {
    for (const [index, { match, route }] of (spec.tls ?? []).entries()) {
      if (!isRoute(route)) continue;
      for (const one of match ?? []) {
        const hosts = one.sniHosts ?? [];
        if (!isFor(one, bound) || !sni(listenerPort, bound.server.bind ?? "", hosts)) continue;
        chains.push(tcpChain(bound, hosts, route, objectId(meta), `spec.tls[${index}]`));
      }
    }
  }
  return chains;
}

function tcpChain(
  from: BoundServer,
  sniHosts: readonly string[],
  routes: readonly RouteDestination[],
  virtualService: ObjectId,
  field: string,
): GatewayTcpChain {
  const { server } = from;
  const tls = isPassthrough(server) ? undefined : server.tls;
  const protocol = parseProtocol(server.port?.protocol ?? "");
  return { kind: "tcp", sniHosts, protocol, port: server.port?.number ?? 0, tls, routes, virtualService, field, from };
}

/** Of the gateway's VirtualServices those with rules below HTTP, and a host that the server shows to their namespace. */
function layer4(view: View<ServerFacet>, { gateway, server }: BoundServer): readonly Config<VirtualServiceSpec>[] {
  const all = view.mesh
    .virtualServiceKeysForGateway(view.proxy.namespace, gateway)
    .filter((key) => view.mesh.virtualServiceHead(key)?.layer4)
    .flatMap((key) => view.mesh.virtualService(key) ?? []);
  return all.filter(({ meta, spec }) => {
    const shown = (server.hosts ?? []).flatMap((host) => {
      const slash = host.indexOf("/");
      if (slash < 0) return [host];
      return host.slice(0, slash) === meta.namespace ? [host.slice(slash + 1)] : [];
    });
    return (spec.hosts ?? []).some((host) => shown.some((candidate) => hostsOverlap(candidate, host)));
  });
}

const matchesAny = (match: readonly L4MatchAttributes[] | undefined, bound: BoundServer): boolean =>
  match === undefined || match.length === 0 || match.some((one) => isFor(one, bound));

/** Labels, namespaces and subnets say nothing about a gateway's clients. */
function isFor(
  match: { readonly port?: number; readonly gateways?: readonly string[] },
  { server, gateway }: BoundServer,
): boolean {
  const gateways = match.gateways ?? [];
  return (!match.port || match.port === server.port?.number) && (gateways.length === 0 || gateways.includes(gateway));
}

function isRoute(route: readonly RouteDestination[] | undefined): route is readonly RouteDestination[] {
  return route !== undefined && (route.length === 1 || route.some(({ weight }) => (weight ?? 0) > 0));
}

/** Envoy refuses a listener in which two chains have a name in common: a rule with a name that is taken is left out. */
function createSniClaims(): SniClaims {
  const taken = new Set<string>();
  return (port, bind, hosts) => {
    const keys = hosts.map((host) => `${port}|${bind}|${host}`);
    if (keys.some((key) => taken.has(key))) return false;
    for (const key of keys) taken.add(key);
    return true;
  };
}
