/** The network filters of a chain in; where its traffic goes, in few words, out. */
import type { Filter } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import type { VirtualHost } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import type { RouteConfiguration } from "../../gen/envoy/config/route/v3/route_pb.js";
import { HttpConnectionManagerSchema } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { TcpProxySchema } from "../../gen/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy_pb.js";
import { decodeAs } from "./any.ts";
import { describeRouteMatch } from "./route-match.ts";

type Kind = "HTTP" | "TCP";

/** Filters are known by their names, as istioctl knows them. One that leads into the black hole is no proxy. */
function kindOf(filter: Filter): Kind | undefined {
  if (filter.name === "envoy.filters.network.http_connection_manager") return "HTTP";
  if (filter.name !== "envoy.filters.network.tcp_proxy") return undefined;
  return Buffer.from(configOf(filter)?.value ?? []).includes("BlackHoleCluster") ? undefined : "TCP";
}

function configOf({ configType }: Filter) {
  return configType.case === "typedConfig" ? configType.value : undefined;
}

export function chainKinds(filters: readonly Filter[]): readonly string[] {
  return filters.flatMap((filter) => kindOf(filter) ?? []);
}

export function describeDestination(filters: readonly Filter[]): string {
  for (const filter of filters) {
    const kind = kindOf(filter);
    if (kind) return kind === "HTTP" ? describeHttp(filter) : describeTcp(filter);
  }
  return "Non-HTTP/Non-TCP";
}

function describeHttp(filter: Filter): string {
  const config = configOf(filter);
  const routes = config && decodeAs(HttpConnectionManagerSchema, config).routeSpecifier;
  if (routes?.case === "routeConfig") return describeRoutes(routes.value);
  if (routes?.case === "rds" && routes.value.routeConfigName !== "") return `Route: ${routes.value.routeConfigName}`;
  return "HTTP";
}

function describeTcp(filter: Filter): string {
  const config = configOf(filter);
  const target = config && decodeAs(TcpProxySchema, config).clusterSpecifier;
  return describeCluster(target?.case === "cluster" ? target.value : "");
}

/** PassthroughCluster and its like say by their names what they are. */
function describeCluster(name: string): string {
  return name.includes("Cluster") ? name : `Cluster: ${name}`;
}

function describeRoutes(config: RouteConfiguration): string {
  const cluster = onlyCluster(config);
  if (cluster !== undefined) return describeCluster(cluster);
  const hosts = config.virtualHosts.map((host) => {
    const domains = isAnyDomain(host) ? "" : host.domains.join("/");
    const routes = host.routes.map((route) => describeRouteMatch(route.match)).join(", ");
    return domains === "" ? routes : `${domains} ${routes}`;
  });
  return `Inline Route: ${hosts.join("; ")}`;
}

function isAnyDomain({ domains }: VirtualHost): boolean {
  return domains.length === 1 && domains[0] === "*";
}

/** The cluster that everything goes to, where there is one host for all, with one route for all. */
function onlyCluster({ virtualHosts }: RouteConfiguration): string | undefined {
  const [host, ...otherHosts] = virtualHosts;
  if (!host || otherHosts.length > 0 || !isAnyDomain(host)) return undefined;
  const [route, ...otherRoutes] = host.routes;
  const path = route?.match?.pathSpecifier;
  if (!route || otherRoutes.length > 0 || path?.case !== "prefix" || path.value !== "/") return undefined;
  const target = route.action.case === "route" ? route.action.value.clusterSpecifier : undefined;
  return target?.case === "cluster" ? target.value : undefined;
}
