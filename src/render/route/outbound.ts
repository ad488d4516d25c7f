/** A sidecar and the name of a route configuration in, the encoded configuration out. */
import { RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import { assemble } from "../assemble.ts";
import { namedRouteConfig } from "../build/route-config.ts";
import { outboundCluster } from "../cluster-name.ts";
import type { Part, View } from "../view.ts";
import { catchAllHost } from "./catch-all.ts";
import { outboundDefaultAction, outboundDefaultRoute } from "./default-route.ts";
import { destinationHash, serviceHash } from "./destination-hash.ts";
import { hostPort } from "./domains.ts";
import {
  type EgressPlace,
  egressDestination,
  egressPlace,
  parseRouteName,
  type RouteName,
  sidecarScope,
} from "./egress.ts";
import { meshSource, type PlannedHost, planHosts, type RouteOwner } from "./host-plan.ts";
import type { RoutePlace } from "./place.ts";
import { appendsForwardedHost, includesAttemptCount } from "./proxy-headers.ts";
import { type RouteList, routeList } from "./route-list.ts";
import { routeSemantics } from "./semantics.ts";
import { virtualHostPart } from "./virtual-host.ts";

export function outboundRouteConfig(view: View, name: string): Part | undefined {
  const parsed = parseRouteName(name);
  if (!parsed) return undefined;
  const hosts = plannedHosts(view, parsed).map((host) => hostPart(view, parsed, host));
  if (parsed.host === undefined) hosts.push(catchAllHost(view));
  return assemble(RouteConfigurationSchema, namedRouteConfig(name), "virtualHosts", hosts);
}

function plannedHosts(view: View, parsed: RouteName): readonly PlannedHost[] {
  const { host, name } = parsed;
  const { hosts } = planFor(view, parsed);
  if (host === undefined) return [...hosts.values()];
  // The listener is the service's own, so whatever arrives there is for it, and for this port of it.
  const named = hosts.get(name);
  const own = named?.domains.some((domain) => domain === host || domain === name)
    ? named
    : [...hosts.values()].find(({ domains }) => domains.includes(host));
  return own ? [{ ...own, domains: ["*"] }] : [];
}

function plannedHost(view: View, parsed: RouteName, name: string): PlannedHost | undefined {
  if (parsed.host === undefined) return planFor(view, parsed).hosts.get(name);
  return plannedHosts(view, parsed).find((planned) => planned.name === name);
}

interface Plan {
  readonly place: EgressPlace | undefined;
  readonly hosts: ReadonlyMap<string, PlannedHost>;
}

function planFor(view: View, parsed: RouteName): Plan {
  const id = parsed.port === 0 ? parsed.name : String(parsed.port);
  return view.shared(`route.plan|${id}`, () => {
    const place = egressPlace(sidecarScope(view), parsed);
    return { place, hosts: new Map((place ? planHosts(view, place) : []).map((host) => [host.name, host])) };
  });
}

/** The part reads its own entry of the plan only, so that it outlives changes of the others. */
function hostPart(view: View, parsed: RouteName, { name }: PlannedHost): Part {
  return view.part(`vhost|${parsed.name}|${name}`, () => {
    const { place, host } = view.shared(`route.host|${parsed.name}|${name}`, () => ({
      place: planFor(view, parsed).place,
      host: plannedHost(view, parsed, name),
    }));
    if (!host || !place) return { bytes: new Uint8Array(), needs: [] };
    const shell = { name, domains: host.domains, includeRequestAttemptCount: includesAttemptCount(view.proxy) };
    return virtualHostPart(shell, [ownerRoutes(view, place, host)]);
  });
}

function ownerRoutes(view: View, place: EgressPlace, { owner }: PlannedHost): RouteList {
  if (owner.kind === "service") return serviceRoutes(view, owner);
  const { key } = owner;
  return view.shared(`route.list|${place.index}|${place.port}|${key}`, () => {
    const config = view.mesh.virtualService(key);
    return config ? routeList(view, config, meshPlace(view, place, config.meta)) : noRoutes;
  });
}

const noRoutes: RouteList = { routes: new Uint8Array(), last: new Uint8Array(), needs: [] };

function serviceRoutes(view: View, { key, host, port }: Extract<RouteOwner, { readonly kind: "service" }>): RouteList {
  const cluster = outboundCluster(host, port);
  const action = view.shared("route.default-action", () =>
    outboundDefaultAction(view.mesh.settings().defaultHttpRetryPolicy),
  );
  const hash = serviceHash(view, key, port);
  const routes = outboundDefaultRoute({ cluster, operation: `${hostPort(host, port)}/*`, action, hash });
  return { routes, last: new Uint8Array(), needs: [cluster] };
}

function meshPlace(view: View, place: EgressPlace, meta: Parameters<typeof routeSemantics>[0]): RoutePlace {
  const scope = sidecarScope(view);
  return {
    ...meshSource(view, place.port),
    tls: false,
    semantics: routeSemantics(meta),
    appendXForwardedHost: appendsForwardedHost(view.proxy),
    defaultRetry: view.mesh.settings().defaultHttpRetryPolicy,
    serviceOf: (host) => egressDestination(view, place, host),
    hashOf: (destination) => destinationHash(view, scope, destination),
  };
}
