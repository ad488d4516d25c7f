/** The servers that share a route configuration in; its virtual hosts, with the VirtualServices whose routes they have, out. */
import { compareText } from "../../lib/index.ts";
import { compareSpecificity, hostCovers, type ServerFacet } from "../../model/index.ts";
import { serverFacet } from "../facets.ts";
import type { BoundServer } from "../gateway/servers.ts";
import { keyOf, recipe, wordsOf } from "../recipe.ts";
import type { View } from "../view.ts";
import { hostPort, isUsableDomain } from "./domains.ts";
import type { RouteSource } from "./place.ts";
import { appliesSomewhere, excludedFor } from "./select.ts";

/** The routes of one VirtualService on one gateway. */
export interface GatewayRoutes {
  readonly gateway: string;
  readonly virtualService: string;
  /** Of the first server that brought them. */
  readonly port: number;
  readonly tls: boolean;
}

export interface GatewayHost {
  readonly name: string;
  readonly domains: readonly string[];
  readonly redirectToTls: boolean;
  readonly routes: readonly GatewayRoutes[];
}

interface OpenHost {
  readonly name: string;
  readonly domains: string[];
  redirectToTls: boolean;
  readonly routes: GatewayRoutes[];
}

export function gatewaySource(
  { mesh, proxy }: View<ServerFacet>,
  { gateway, port, virtualService }: Pick<GatewayRoutes, "gateway" | "port" | "virtualService">,
): RouteSource {
  return { port, gateway, excluded: excludedFor(mesh.virtualService(virtualService), proxy) };
}

/** In order of their names. VirtualServices of one host are joined, whatever gateways brought them. */
export function planGatewayHosts(view: View<ServerFacet>, servers: readonly BoundServer[]): readonly GatewayHost[] {
  const hosts = new Map<string, OpenHost>();
  const routesOf = createRouteIndex(view);
  for (const bound of servers) {
    const port = bound.server.port?.number ?? 0;
    const redirectToTls = bound.server.tls?.httpsRedirect === true;
    const open = (host: string): OpenHost => {
      const known = hosts.get(host) ?? {
        name: hostPort(host, port),
        domains: [host],
        redirectToTls: false,
        routes: [],
      };
      hosts.set(host, known);
      if (redirectToTls) known.redirectToTls = true;
      return known;
    };
    for (const virtualService of view.mesh.virtualServiceKeysForGateway(view.proxy.namespace, bound.gateway)) {
      const shared = sharedHosts(view, bound, virtualService);
      const routes = shared.length > 0 ? routesOf(bound, virtualService) : undefined;
      if (routes) for (const host of shared) open(host.toLowerCase()).routes.push(routes);
    }
    if (redirectToTls) for (const host of bound.server.hosts?.filter(isUsableDomain) ?? []) open(host.toLowerCase());
  }
  return collapse(hosts).sort((a, b) => compareText(a.name, b.name));
}

/** What server and VirtualService have in common: of two hosts that overlap the narrower one. */
function sharedHosts(view: View<ServerFacet>, bound: BoundServer, key: string): readonly string[] {
  const head = view.mesh.virtualServiceHead(key);
  const shared = new Set<string>();
  for (const served of serverHosts(bound, head?.meta.namespace ?? "")) {
    for (const host of head?.hosts ?? []) {
      if (hostCovers(host, served)) shared.add(served);
      else if (hostCovers(served, host)) shared.add(host);
    }
  }
  return [...shared].filter(isUsableDomain);
}

/** A host with a namespace is open to VirtualServices of that namespace alone. */
function serverHosts({ server }: BoundServer, namespace: string): readonly string[] {
  return (server.hosts ?? []).flatMap((host) => {
    const slash = host.indexOf("/");
    if (slash < 0) return [host];
    return host.slice(0, slash) === namespace ? [host.slice(slash + 1)] : [];
  });
}

/** A VirtualService's routes are made once per gateway, for the first server that has them; undefined where none applies. */
function createRouteIndex(view: View<ServerFacet>): (bound: BoundServer, key: string) => GatewayRoutes | undefined {
  const known = new Map<string, GatewayRoutes>();
  return ({ gateway, server }, virtualService) => {
    const id = `${gateway}|${virtualService}`;
    const found = known.get(id);
    if (found) return found;
    const routes = { gateway, virtualService, port: server.port?.number ?? 0, tls: server.tls !== undefined };
    if (!routesApply(view, keyOf(gateway, String(routes.port), virtualService))) return undefined;
    known.set(id, routes);
    return routes;
  };
}

const routesApply = recipe(serverFacet, "gateway routes apply", (view, key): boolean => {
  const [gateway = "", port = "", virtualService = ""] = wordsOf(key);
  const source = gatewaySource(view, { gateway, port: Number(port), virtualService });
  return appliesSomewhere(view.mesh.virtualService(virtualService), source);
});

/** Hosts with the same routes become one virtual host with several domains, named after the most specific. */
function collapse(hosts: ReadonlyMap<string, OpenHost>): GatewayHost[] {
  const out: OpenHost[] = [];
  const byRoutes = new Map<string, OpenHost>();
  for (const name of [...hosts.keys()].sort(compareSpecificity)) {
    const host = hosts.get(name);
    if (!host) continue;
    const id = host.routes.map(({ gateway, virtualService }) => `${gateway}|${virtualService}`).join();
    const twin = byRoutes.get(id);
    if (twin && twin.redirectToTls === host.redirectToTls) {
      twin.domains.push(...host.domains);
      continue;
    }
    byRoutes.set(id, host);
    out.push(host);
  }
  return out;
}
