/** A VirtualService and the place of its routes in; the route and match pairs that apply there, in order, out. */
import type { HTTPMatchRequest, HTTPRoute, VirtualServiceSpec } from "../../model/index.ts";
import { isUsableRouteMatch } from "./match.ts";
import type { RouteSource } from "./place.ts";

export interface SelectedRoute {
  readonly route: HTTPRoute;
  readonly match: HTTPMatchRequest | undefined;
  /** Path of the field, for provenance. */
  readonly field: string;
}

export function* selectRoutes(spec: VirtualServiceSpec, source: RouteSource): Generator<SelectedRoute> {
  for (const [i, route] of (spec.http ?? []).entries()) {
    if (!route.match?.length) {
      yield { route, match: undefined, field: `spec.http[${i}]` };
      return;
    }
    for (const [j, match] of route.match.entries()) {
      if (applies(match, source)) yield { route, match, field: `spec.http[${i}].match[${j}]` };
    }
  }
}

/** A match that Envoy would refuse cannot apply to anything. */
function applies(match: HTTPMatchRequest, source: RouteSource): boolean {
  if (match.port && match.port !== source.port) return false;
  return comesFrom(match, source) && isUsableRouteMatch(match);
}

/** Gateways named in the match stand in for everything else that it says about the source. */
function comesFrom(match: HTTPMatchRequest, source: RouteSource): boolean {
  if (match.gateways?.length) return match.gateways.includes(source.gateway);
  const wanted = Object.entries(match.sourceLabels ?? {});
  if (!wanted.every(([name, value]) => source.labels[name] === value)) return false;
  return !match.sourceNamespace || match.sourceNamespace === source.namespace;
}
