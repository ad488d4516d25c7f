/** A gateway and the name of a route configuration in, the encoded configuration out. */
import { VirtualHost_TlsRequirementType, VirtualHostSchema } from "../gen/envoy/config/route/v3/route_components_pb.js";
import { RouteConfigurationSchema } from "../gen/envoy/config/route/v3/route_pb.js";
import type { Config, VirtualServiceSpec } from "../model/index.ts";
import { serviceKey } from "../model/index.ts";
import { assemble } from "./assemble.ts";
import { emptyRouteConfig, namedRouteConfig, virtualHost } from "./build/route-config.ts";
import { mergedGateways, terminatesHttps } from "./gateway-servers.ts";
import { canBind } from "./proxy-config.ts";
import type { DestinationService } from "./route/destination.ts";
import { destinationHash } from "./route/destination-hash.ts";
import { hostPort } from "./route/domains.ts";
import { type GatewayHost, type GatewayRoutes, gatewaySource, planGatewayHosts } from "./route/gateway-plan.ts";
import type { RoutePlace } from "./route/place.ts";
import { appendsForwardedHost, includesAttemptCount } from "./route/proxy-headers.ts";
import { type RouteList, routeList } from "./route/route-list.ts";
import { routeSemantics } from "./route/semantics.ts";
import { virtualHostPart } from "./route/virtual-host.ts";
import { encodePart, type Part, type View } from "./view.ts";

/** Every server that speaks HTTP refers to one, on the ports that the proxy may bind. */
export function gatewayRouteNames(view: View): readonly string[] {
  const bound = mergedGateways(view).ports.filter(({ number }) => canBind(view.proxy, number));
  const names = bound.flatMap(({ routeName, servers }) => [
    routeName,
    ...servers.filter(terminatesHttps).map((server) => server.routeName),
  ]);
  return [...new Set(names)].filter((name) => name !== "").sort();
}

export function gatewayRouteConfig(view: View, name: string): Part {
  const servers = mergedGateways(view).byRoute.get(name);
  if (!servers) return encodePart(RouteConfigurationSchema, emptyRouteConfig(name));
  const hosts = [...planFor(view, name).keys()].map((host) => hostPart(view, name, host));
  const parts = hosts.length > 0 ? hosts : [blackhole(servers[0]?.server.port?.number ?? 0)];
  return assemble(RouteConfigurationSchema, namedRouteConfig(name), "virtualHosts", parts);
}

/** Without routes Envoy answers 404. */
function blackhole(port: number): Part {
  const shell = { name: hostPort("blackhole", port), domains: ["*"], includeRequestAttemptCount: false };
  return encodePart(VirtualHostSchema, virtualHost(shell));
}

function planFor(view: View, name: string): ReadonlyMap<string, GatewayHost> {
  return view.shared(`gateway-route.plan|${name}`, () => {
    const servers = mergedGateways(view).byRoute.get(name) ?? [];
    return new Map(planGatewayHosts(view, servers).map((host) => [host.name, host]));
  });
}

/** The part reads its own entry of the plan only, so that it outlives changes of the others. */
function hostPart(view: View, routeName: string, name: string): Part {
  return view.part(`vhost|${routeName}|${name}`, () => {
    const host = view.shared(`gateway-route.host|${routeName}|${name}`, () => planFor(view, routeName).get(name));
    if (!host) return { bytes: new Uint8Array(), needs: [] };
    const shell = {
      name,
      domains: host.domains,
      includeRequestAttemptCount: includesAttemptCount(view.proxy),
      requireTls: host.redirectToTls ? VirtualHost_TlsRequirementType.ALL : VirtualHost_TlsRequirementType.NONE,
    };
    return virtualHostPart(
      shell,
      host.routes.map((routes) => gatewayRouteList(view, routes)),
    );
  });
}

function gatewayRouteList(view: View, routes: GatewayRoutes): RouteList {
  const { gateway, port, tls, virtualService } = routes;
  return view.shared(`gateway-route.list|${gateway}|${port}|${tls}|${virtualService}`, () => {
    const config = view.mesh.virtualService(virtualService);
    return config ? routeList(view, config, gatewayPlace(view, routes, config)) : noRoutes;
  });
}

const noRoutes: RouteList = { routes: new Uint8Array(), last: new Uint8Array(), needs: [] };

function gatewayPlace(view: View, routes: GatewayRoutes, config: Config<VirtualServiceSpec>): RoutePlace {
  const scope = view.mesh.gatewayScope(view.proxy.namespace);
  return {
    ...gatewaySource(view, routes),
    tls: routes.tls,
    semantics: routeSemantics(config.meta),
    appendXForwardedHost: appendsForwardedHost(view.proxy),
    defaultRetry: view.mesh.settings().defaultHttpRetryPolicy,
    serviceOf: (host) => gatewayDestination(view, host, config.meta.namespace),
    hashOf: (destination) => destinationHash(view, scope, destination),
  };
}

/** The VirtualService's own namespace first, where the gateway may see that service. */
function gatewayDestination(view: View, host: string, namespace: string): DestinationService | undefined {
  return view.shared(`gateway-route.destination|${namespace}|${host}`, () => {
    const scope = view.mesh.gatewayScope(view.proxy.namespace);
    const own = serviceKey(namespace, host);
    const service = view.mesh.sees(view.proxy.namespace, own) ? view.mesh.service(own) : scope.serviceFor(host);
    return service && { externalName: service.externalName, ports: service.ports };
  });
}
