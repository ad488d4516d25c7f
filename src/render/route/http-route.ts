/** One HTTP route of a VirtualService with one of its matches in, an Envoy route out. */
import { create } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import { type Route, type RouteMatch, RouteSchema } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { CorsPolicySchema } from "../../gen/envoy/extensions/filters/http/cors/v3/cors_pb.js";
import { HTTPFaultSchema } from "../../gen/envoy/extensions/filters/http/fault/v3/fault_pb.js";
import type { Config, HTTPRoute, VirtualServiceSpec } from "../../model/index.ts";
import { packAny } from "../build/any.ts";
import { configPath, istioMetadata } from "../build/metadata.ts";
import { onlyDestination, routeAction } from "./action.ts";
import { corsPolicy } from "./cors.ts";
import { directResponse, refusal } from "./direct-response.ts";
import { fault } from "./fault.ts";
import { headerEdits, joinEdits } from "./headers.ts";
import { routeMatch } from "./match.ts";
import type { RoutePlace } from "./place.ts";
import { redirectAction } from "./redirect.ts";
import { isUsableRewrite } from "./rewrite.ts";
import type { SelectedRoute } from "./select.ts";

export function httpRoute(config: Config<VirtualServiceSpec>, selected: SelectedRoute, place: RoutePlace): Route {
  const { route, match } = selected;
  const envoyMatch = routeMatch(match, place.semantics);
  const action = actionOf(route, envoyMatch, place);
  return create(RouteSchema, {
    name: match?.name ? `${route.name ?? ""}.${match.name}` : (route.name ?? ""),
    match: envoyMatch,
    action,
    metadata: istioMetadata({ config: configPath("VirtualService", config.meta) }),
    decorator: { operation: operation(action, envoyMatch, `${config.meta.name}:${place.port}`) },
    statPrefix: match?.statPrefix ?? "",
    ...(action.case === "route"
      ? joinEdits(headerEdits(route.headers), headerEdits(onlyDestination(route)?.headers))
      : headerEdits(route.headers)),
    typedPerFilterConfig: filterConfigs(route),
  });
}

/** What Envoy would refuse answers with an error instead: otherwise no route of the configuration would change any more. */
function actionOf(route: HTTPRoute, match: RouteMatch, place: RoutePlace): Route["action"] {
  const refused: Route["action"] = { case: "directResponse", value: refusal() };
  if (route.redirect) {
    const value = redirectAction(route.redirect, place);
    return value ? { case: "redirect", value } : refused;
  }
  if (route.directResponse) {
    const value = directResponse(route.directResponse);
    return value ? { case: "directResponse", value } : refused;
  }
  const value = isUsableRewrite(route.rewrite) ? routeAction(route, match, place) : undefined;
  return value ? { case: "route", value } : refused;
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

function filterConfigs(route: HTTPRoute): Record<string, Any> {
  return {
    ...(route.fault ? { "envoy.filters.http.fault": packAny(HTTPFaultSchema, fault(route.fault)) } : {}),
    ...(route.corsPolicy ? { "envoy.filters.http.cors": packAny(CorsPolicySchema, corsPolicy(route.corsPolicy)) } : {}),
  };
}
