/** Destinations, rewrite, mirrors, timeout and retries of one HTTP route in, Envoy's route action out. */
import { create } from "@bufbuild/protobuf";
import {
  type RouteAction,
  RouteAction_ClusterNotFoundResponseCode,
  RouteActionSchema,
  type RouteMatch,
  type WeightedCluster_ClusterWeight,
  WeightedCluster_ClusterWeightSchema,
} from "../../gen/envoy/config/route/v3/route_components_pb.js";
import type { Destination, HTTPRoute, HTTPRouteDestination } from "../../model/index.ts";
import { destinationCluster } from "./destination.ts";
import { hashPolicy } from "./hash-policy.ts";
import { authorityEdit, headerEdits } from "./headers.ts";
import { mirrorPolicies } from "./mirror.ts";
import type { RoutePlace } from "./place.ts";
import { outboundRetry } from "./retry.ts";
import { pathRewrite } from "./rewrite.ts";
import { streamTimeouts, timeouts } from "./timeout.ts";

/** Undefined where no destination has a weight: Envoy refuses a route to nowhere. */
export function routeAction(route: HTTPRoute, match: RouteMatch, place: RoutePlace): RouteAction | undefined {
  const only = onlyDestination(route);
  const destinations = only ? [only] : splitDestinations(route);
  if (destinations.length === 0) return undefined;
  const hashes = destinations.map(({ destination }) => destination && place.hashOf(destination));
  const retryPolicy = outboundRetry(route.retries ?? place.defaultRetry, only !== undefined && hashes[0] !== undefined);
  const authority = hostRewrite(route, only);
  return create(RouteActionSchema, {
    clusterSpecifier: only
      ? { case: "cluster", value: clusterOf(only.destination, place) }
      : { case: "weightedClusters", value: { clusters: destinations.map((share) => clusterWeight(share, place)) } },
    ...(place.proxyless ? streamTimeouts(route.timeout) : timeouts(route.timeout)),
    ...(retryPolicy ? { retryPolicy } : {}),
    ...(route.rewrite ? pathRewrite(route.rewrite, place.semantics, separatedPrefix(match)) : {}),
    ...(authority === "" ? {} : { hostRewriteSpecifier: { case: "hostRewriteLiteral", value: authority } }),
    appendXForwardedHost: route.rewrite !== undefined && place.appendXForwardedHost,
    requestMirrorPolicies: mirrorPolicies(route, (destination) => clusterOf(destination, place)),
    hashPolicy: hashes.flatMap((hash) => hashPolicy(hash) ?? []),
    // The Gateway API asks for 500 where a backend does not exist; Envoy's default is 503.
    ...(place.semantics === "gateway-api"
      ? { clusterNotFoundResponseCode: RouteAction_ClusterNotFoundResponseCode.INTERNAL_SERVER_ERROR }
      : {}),
  });
}

/** A lone destination takes all traffic, whatever its weight. */
export function onlyDestination(route: HTTPRoute): HTTPRouteDestination | undefined {
  return route.route?.length === 1 ? route.route[0] : undefined;
}

/** Every cluster that the action names: what must be known to Envoy before the route is of use. */
export function clustersOf({ clusterSpecifier, requestMirrorPolicies }: RouteAction): readonly string[] {
  const mirrors = requestMirrorPolicies.map(({ cluster }) => cluster);
  if (clusterSpecifier.case === "cluster") return [clusterSpecifier.value, ...mirrors];
  if (clusterSpecifier.case !== "weightedClusters") return mirrors;
  return [...clusterSpecifier.value.clusters.map(({ name }) => name), ...mirrors];
}

/** Among several destinations weight 0 takes nothing. Envoy adds the weights up in 32 bits. */
function splitDestinations(route: HTTPRoute): readonly HTTPRouteDestination[] {
  const weighted = (route.route ?? []).filter(({ weight }) => (weight ?? 0) > 0);
  const total = weighted.reduce((sum, { weight }) => sum + (weight ?? 0), 0);
  return total > 0xffff_ffff ? [] : weighted;
}

function clusterWeight(share: HTTPRouteDestination, place: RoutePlace): WeightedCluster_ClusterWeight {
  const authority = authorityEdit(share.headers);
  return create(WeightedCluster_ClusterWeightSchema, {
    name: clusterOf(share.destination, place),
    weight: share.weight ?? 0,
    ...headerEdits(share.headers),
    ...(authority === "" ? {} : { hostRewriteSpecifier: { case: "hostRewriteLiteral", value: authority } }),
  });
}

/** The rewrite over the route's headers over the lone destination's headers. */
function hostRewrite(route: HTTPRoute, only: HTTPRouteDestination | undefined): string {
  return route.rewrite?.authority || authorityEdit(route.headers) || authorityEdit(only?.headers);
}

function clusterOf(destination: Destination | undefined, place: RoutePlace): string {
  return destinationCluster(destination ?? {}, place.serviceOf(destination?.host ?? ""), place.port);
}

const separatedPrefix = ({ pathSpecifier }: RouteMatch): string =>
  pathSpecifier.case === "pathSeparatedPrefix" ? pathSpecifier.value : "";
