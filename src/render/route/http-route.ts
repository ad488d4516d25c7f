/** One HTTP route of a VirtualService with one of its matches in, an Envoy route out. */
import { create } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import { type Route, type RouteMatch, RouteSchema } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { CorsPolicySchema } from "../../gen/envoy/extensions/filters/http/cors/v3/cors_pb.js";
import { HTTPFaultSchema } from "../../gen/envoy/extensions/filters/http/fault/v3/fault_pb.js";
import type { Config, HTTPRoute, VirtualServiceSpec } from "../../model/index.ts";
import { packAny } from "../build/any.ts";
import { brokenConstraint } from "../build/constraints.ts";
import { configPath, istioMetadata } from "../build/metadata.ts";
import { onlyDestination, routeAction } from "./action.ts";
import { corsPolicy } from "./cors.ts";
import { directResponse } from "./direct-response.ts";
import { fault } from "./fault.ts";
import { hasUsableHeaders, headerEdits, joinEdits } from "./headers.ts";
import type { RoutePlace } from "./place.ts";
import { redirectAction } from "./redirect.ts";
import { isUsableRewrite } from "./rewrite.ts";
import type { SelectedRoute } from "./select.ts";

export function httpRoute(config: Config<VirtualServiceSpec>, selected: SelectedRoute, place: RoutePlace): Route {
  const route = builtRoute(config, selected, place);
  if (route && brokenConstraint(RouteSchema, route) === undefined) return route;
  // Envoy would refuse it, and with it every other route of its configuration: only this one shall suffer.
  return create(RouteSchema, {
    ...commonFields(config, selected),
    action: { case: "directResponse", value: { status: 500 } },
    decorator: { operation: `${config.meta.name}:${place.port}/*` },
  });
}

function builtRoute(config: Config<VirtualServiceSpec>, selected: SelectedRoute, place: RoutePlace): Route | undefined {
  const { route, envoyMatch } = selected;
  const action = actionOf(route, envoyMatch, place);
  const filters = filterConfigs(route);
  const only = action?.case === "route" ? onlyDestination(route) : undefined;
  if (
    !action ||
    !filters ||
    !isUsableRewrite(route.rewrite) ||
    ![route, ...(route.route ?? [])].every(hasUsableHeaders)
  )
    return undefined;
  return create(RouteSchema, {
    ...commonFields(config, selected),
    action,
    decorator: { operation: operation(action, envoyMatch, `${config.meta.name}:${place.port}`) },
    ...joinEdits(headerEdits(route.headers), headerEdits(only?.headers)),
    typedPerFilterConfig: filters,
  });
}

function commonFields(config: Config<VirtualServiceSpec>, { route, match, envoyMatch }: SelectedRoute) {
  return {
    name: match?.name ? `${route.name ?? ""}.${match.name}` : (route.name ?? ""),
    match: envoyMatch,
    metadata: istioMetadata({ config: configPath("VirtualService", config.meta) }),
    statPrefix: match?.statPrefix ?? "",
  };
}

function actionOf(route: HTTPRoute, match: RouteMatch, place: RoutePlace): Route["action"] | undefined {
  if (route.redirect) return memberOf("redirect", redirectAction(route.redirect, place));
  if (route.directResponse) return { case: "directResponse", value: directResponse(route.directResponse) };
  return memberOf("route", routeAction(route, match, place));
}

function memberOf<Case extends string, Value>(
  name: Case,
  value: Value | undefined,
): { case: Case; value: Value } | undefined {
  return value && { case: name, value };
}

/** The name of the span: the one host that is called, or the VirtualService where that is not one. */
function operation(action: Route["action"], match: RouteMatch, fallback: string): string {
  const cluster = action.case === "route" ? action.value.clusterSpecifier : undefined;
  const parts = cluster?.case === "cluster" ? cluster.value.split("|") : [];
  const target = parts.length === 4 ? `${parts[3]}:${parts[1]}` : fallback;
  return `${target}${operationPath(match)}`;
}

function operationPath({ pathSpecifier }: RouteMatch): string {
  if (pathSpecifier.case === "prefix") return `${pathSpecifier.value}*`;
  if (pathSpecifier.case === "path") return pathSpecifier.value;
  return pathSpecifier.case === "safeRegex" ? pathSpecifier.value.regex : "/*";
}

/** Undefined where Envoy would refuse one of them. */
function filterConfigs(route: HTTPRoute): Record<string, Any> | undefined {
  const faults = route.fault && fault(route.fault);
  const cors = route.corsPolicy && corsPolicy(route.corsPolicy);
  if (faults && brokenConstraint(HTTPFaultSchema, faults) !== undefined) return undefined;
  if (cors && brokenConstraint(CorsPolicySchema, cors) !== undefined) return undefined;
  return {
    ...(faults ? { "envoy.filters.http.fault": packAny(HTTPFaultSchema, faults) } : {}),
    ...(cors ? { "envoy.filters.http.cors": packAny(CorsPolicySchema, cors) } : {}),
  };
}
