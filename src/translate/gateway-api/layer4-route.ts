/** TCPRoutes and TLSRoutes in, the TCP and TLS routes of VirtualServices out. */
import {
  type Config,
  type GatewayApiRule,
  hostCovers,
  hostsOverlap,
  type RouteDestination,
  type TCPRoute,
  type TCPRouteSpec,
  type TLSRoute,
  type TLSRouteSpec,
} from "../../model/index.ts";
import { type BackendContext, backendDestination, isSoft, weighted, weightSum } from "./backend.ts";
import type { Outcome, Problem } from "./problem.ts";

export function tcpRoutes({ spec }: Config<TCPRouteSpec>, context: BackendContext): Outcome<readonly TCPRoute[]> {
  return collect(spec.rules ?? [], context, (route): TCPRoute => ({ route }));
}

export function tlsRoutes({ spec }: Config<TLSRouteSpec>, context: BackendContext): Outcome<readonly TLSRoute[]> {
  const sniHosts = spec.hostnames?.length ? spec.hostnames : ["*"];
  return collect(
    spec.rules ?? [],
    context,
    (route, isEmpty): TLSRoute => (isEmpty ? { route } : { match: [{ sniHosts }], route }),
  );
}

function collect<R>(
  rules: readonly GatewayApiRule[],
  context: BackendContext,
  make: (route: readonly RouteDestination[], isEmpty: boolean) => R,
): Outcome<readonly R[]> {
  const routes: R[] = [];
  let soft: Problem | undefined;
  for (const rule of rules) {
    const refs = rule.backendRefs ?? [];
    const isEmpty = weightSum(refs) === 0;
    const destinations = isEmpty ? { value: [nowhere] } : destinationsOf(context, refs);
    if (!destinations.value) return destinations.problem ? { problem: destinations.problem } : {};
    soft = destinations.problem ?? soft;
    routes.push(make(destinations.value, isEmpty));
  }
  return { value: routes, ...(soft ? { problem: soft } : {}) };
}

/** Connections to no backend must fail: a cluster that does not exist. */
const nowhere: RouteDestination = {
  destination: { host: "internal.cluster.local", subset: "zero-weight", port: { number: 65535 } },
};

function destinationsOf(
  context: BackendContext,
  refs: NonNullable<GatewayApiRule["backendRefs"]>,
): Outcome<readonly RouteDestination[]> {
  const out: RouteDestination[] = [];
  let soft: Problem | undefined;
  for (const { ref, weight } of weighted(refs)) {
    const destination = backendDestination(context, ref);
    if (destination.problem && !isSoft(destination.problem)) return { problem: destination.problem };
    soft = destination.problem ?? soft;
    out.push({ destination: destination.value ?? {}, ...(weight > 0 ? { weight } : {}) });
  }
  return { value: out, ...(soft ? { problem: soft } : {}) };
}

/** Hosts that both lists stand for, the narrower of each pair. */
export function intersectHosts(a: readonly string[], b: readonly string[]): readonly string[] {
  const found = a.flatMap((x) => b.flatMap((y) => (hostCovers(y, x) ? [x] : hostCovers(x, y) ? [y] : [])));
  return [...new Set(found)];
}

/** Only the hosts that the listener has too; a route that keeps none is left out. */
export function constrainToListener(routes: readonly TLSRoute[], hostname: string): readonly TLSRoute[] {
  return routes
    .map((route) => ({
      ...route,
      ...(route.match
        ? { match: route.match.map((m) => ({ ...m, sniHosts: intersectHosts(m.sniHosts ?? [], [hostname]) })) }
        : {}),
    }))
    .filter(({ match }) => !match || match.some(({ sniHosts = [] }) => sniHosts.length > 0));
}

/** In the mesh, a route without hostnames is for the parent's hosts; the port is that of the reference. */
export function forMesh(
  routes: readonly TLSRoute[],
  port: number | undefined,
  hosts: readonly string[],
): readonly TLSRoute[] {
  return routes.map((route) => {
    const [only, ...more] = route.match ?? [];
    const isOpen = more.length === 0 && only?.sniHosts?.length === 1 && only.sniHosts[0] === "*";
    const match = (route.match ?? []).map((m) => ({
      ...m,
      ...(isOpen ? { sniHosts: hosts } : {}),
      ...(port === undefined ? {} : { port }),
    }));
    return match.length > 0 ? { ...route, match } : route;
  });
}

/** Of several hosts, those that fit the VirtualService's own. */
export function compatibleWith(routes: readonly TLSRoute[], host: string): readonly TLSRoute[] {
  return routes.map((route) => {
    const [only, ...more] = route.match ?? [];
    if (!only || more.length > 0 || (only.sniHosts ?? []).length <= 1) return route;
    return { ...route, match: [{ ...only, sniHosts: (only.sniHosts ?? []).filter((sni) => hostsOverlap(host, sni)) }] };
  });
}
