/** A gateway in; its route configurations out. */
import { toBinary } from "@bufbuild/protobuf";
import {
  VirtualHost_TlsRequirementType,
  VirtualHostSchema,
} from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import {
  type Config,
  objectName,
  type Resource,
  type ServerFacet,
  serviceKey,
  types,
  type VirtualServiceSpec,
} from "../../model/index.ts";
import { emptyRouteConfig, virtualHost } from "../build/route-config.ts";
import { serverFacet } from "../facets.ts";
import { mergedGateways, terminatesHttps } from "../gateway/servers.ts";
import { layerRecipe } from "../layer.ts";
import { ruleOf } from "../outbound/client-scope.ts";
import { encodePart, resourceOf } from "../part.ts";
import { canBind } from "../proxy/proxy-config.ts";
import { keyOf, recipe, resourceRecipe, wordsOf } from "../recipe.ts";
import type { View } from "../view.ts";
import { assembleRoutes, hostList } from "./assembly.ts";
import type { DestinationService } from "./destination.ts";
import { hostPort } from "./domains.ts";
import { type GatewayHost, gatewaySource, planGatewayHosts } from "./gateway-plan.ts";
import { hashField, hashOfDestination } from "./hash-policy.ts";
import type { RoutePlace, RouteSource } from "./place.ts";
import { appendsForwardedHost, includesAttemptCount } from "./proxy-headers.ts";
import { noRoutes, type RouteList, routeList, sameRoutes } from "./route-list.ts";
import { routeSemantics } from "./semantics.ts";
import { type HostPart, hostPart, sameHost, virtualHostPart } from "./virtual-host.ts";

/** Every server that speaks HTTP refers to one, on the ports that the proxy may bind. */
function gatewayRouteNames(view: View<ServerFacet>): readonly string[] {
  const bound = mergedGateways(view).ports.filter(({ number }) => canBind(view.proxy, number));
  const names = bound.flatMap(({ routeName, servers }) => [
    routeName,
    ...servers.filter(terminatesHttps).map((server) => server.routeName),
  ]);
  return [...new Set(names)].filter((name) => name !== "").sort();
}

export const gatewayRoute = resourceRecipe(serverFacet, types.route, (view, key): Resource => {
  const [name = ""] = wordsOf(key);
  const servers = mergedGateways(view).byRoute.get(name);
  if (!servers) return resourceOf(name, encodePart(RouteConfigurationSchema, emptyRouteConfig(name)));
  const hosts = [...gatewayHosts(view, name).keys()].map((host) => gatewayHost(view, keyOf(name, host)));
  return assembleRoutes(name, hostList(hosts.length > 0 ? hosts : [blackhole(servers[0]?.server.port?.number ?? 0)]));
});

export const gatewayRoutes = layerRecipe(
  serverFacet,
  "gateway routes",
  (view) => new Map(gatewayRouteNames(view).map((name) => [name, gatewayRoute.ref(view, keyOf(name))])),
);

/** Without routes Envoy answers 404. */
function blackhole(port: number): HostPart {
  const name = hostPort("blackhole", port);
  const shell = { name, domains: ["*"], includeRequestAttemptCount: false };
  return hostPart(name, toBinary(VirtualHostSchema, virtualHost(shell)), []);
}

const gatewayHosts = recipe(serverFacet, "gateway route plan", (view, name): ReadonlyMap<string, GatewayHost> => {
  const servers = mergedGateways(view).byRoute.get(name) ?? [];
  return new Map(planGatewayHosts(view, servers).map((host) => [host.name, host]));
});

/** One alone, so that it outlives changes of the others. */
const plannedHost = recipe(serverFacet, "gateway host plan", (view, key): GatewayHost | undefined => {
  const [routeName = "", name = ""] = wordsOf(key);
  return gatewayHosts(view, routeName).get(name);
});

const gatewayHost = recipe(
  serverFacet,
  "gateway virtual host",
  (view, key): HostPart => {
    const [, name = ""] = wordsOf(key);
    const host = plannedHost(view, key);
    if (!host) return hostPart(name, new Uint8Array(), []);
    const shell = {
      name,
      domains: host.domains,
      includeRequestAttemptCount: includesAttemptCount(view.proxy),
      requireTls: host.redirectToTls ? VirtualHost_TlsRequirementType.ALL : VirtualHost_TlsRequirementType.NONE,
    };
    return virtualHostPart(
      shell,
      host.routes.map(({ gateway, port, tls, virtualService }) =>
        gatewayRouteList(view, keyOf(gateway, String(port), tls ? "tls" : "", virtualService)),
      ),
    );
  },
  sameHost,
);

const gatewayRouteList = recipe(
  serverFacet,
  "gateway routes of a VirtualService",
  (view, key): RouteList => {
    const [gateway = "", port = "", tls = "", virtualService = ""] = wordsOf(key);
    const config = view.mesh.virtualService(virtualService);
    if (!config) return noRoutes;
    const source = gatewaySource(view, { gateway, port: Number(port), virtualService });
    return routeList(view, config, gatewayPlace(view, { ...source, tls: tls !== "" }, config));
  },
  sameRoutes,
);

function gatewayPlace(
  view: View<ServerFacet>,
  source: RouteSource & { readonly tls: boolean },
  config: Config<VirtualServiceSpec>,
): RoutePlace {
  const scope = view.mesh.gatewayScope(view.proxy.namespace);
  return {
    ...source,
    semantics: routeSemantics(config.meta),
    appendXForwardedHost: appendsForwardedHost(view.proxy),
    proxyless: false,
    defaultRetry: view.mesh.settings().defaultHttpRetryPolicy,
    serviceOf: (host) => gatewayDestination(view, keyOf(config.meta.namespace, host)),
    hashOf(destination) {
      const key = scope.keyFor(destination.host ?? "");
      const rule = key === undefined ? undefined : ruleOf(view, key);
      const hash = rule && hashOfDestination(rule.spec, destination);
      if (rule && hash) view.mesh.graph.note(objectName("DestinationRule", rule.meta), hashField);
      return hash;
    },
  };
}

/** The VirtualService's own namespace first, where the gateway may see that service. */
const gatewayDestination = recipe(
  serverFacet,
  "gateway destination",
  ({ mesh, proxy }, key): DestinationService | undefined => {
    const [namespace = "", host = ""] = wordsOf(key);
    const own = serviceKey(namespace, host);
    const sees = mesh.sees(proxy.namespace, own);
    const service = sees ? mesh.service(own) : mesh.gatewayScope(proxy.namespace).serviceFor(host);
    return service && { externalName: service.externalName, ports: service.ports };
  },
);
