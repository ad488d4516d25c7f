/** HTTPRoutes and GRPCRoutes in, the HTTP routes of VirtualServices out: one per match, so that they can be put in order. */
import type {
  Config,
  GRPCRouteBackendRef,
  GRPCRouteRule,
  GRPCRouteSpec,
  HTTPMatchRequest,
  HTTPRoute,
  HTTPRouteBackendRef,
  HTTPRouteDestination,
  HTTPRouteRule,
  HTTPRouteSpec,
  ObjectMeta,
} from "../../model/index.ts";
import { type BackendContext, backendDestination, isSoft, weighted, weightSum } from "./backend.ts";
import { headerFilters, nonZero, routeFilters } from "./http-filter.ts";
import { compareMatches, grpcMatch, httpMatch } from "./http-match.ts";
import { joinProblems, type Outcome, type Problem } from "./problem.ts";

export function httpRoutes(config: Config<HTTPRouteSpec>, context: BackendContext): Outcome<readonly HTTPRoute[]> {
  return collect(matchedRules(config.meta, config.spec.rules ?? [], httpMatch), ({ rule, start }) =>
    ruleRoute(context, rule, start, (route) => ({ ...route, ...resilience(rule) })),
  );
}

export function grpcRoutes(config: Config<GRPCRouteSpec>, context: BackendContext): Outcome<readonly HTTPRoute[]> {
  return collect(matchedRules(config.meta, config.spec.rules ?? [], grpcMatch), ({ rule, start }) =>
    ruleRoute(context, rule, start, (route) => route),
  );
}

interface RuleOf<Match> {
  readonly name?: string;
  readonly matches?: readonly Match[];
}

/** Each rule once for each of its matches, with the beginning of the route that it becomes. */
function matchedRules<Match, Rule extends RuleOf<Match>>(
  meta: ObjectMeta,
  rules: readonly Rule[],
  read: (match: Match) => HTTPMatchRequest,
): readonly { readonly rule: Rule; readonly start: HTTPRoute }[] {
  return rules.flatMap((rule, position) => {
    const name = rule.name ?? `${meta.namespace}.${meta.name}.${position}`;
    const matches = rule.matches?.length ? rule.matches : [undefined];
    return matches.map((match) => ({ rule, start: match === undefined ? { name } : { name, match: [read(match)] } }));
  });
}

/** A rule that cannot be made fails the whole object; softer problems are told beside its routes. */
function collect<R>(rules: readonly R[], make: (rule: R) => Outcome<HTTPRoute>): Outcome<readonly HTTPRoute[]> {
  const routes: HTTPRoute[] = [];
  let soft: Problem | undefined;
  for (const rule of rules) {
    const made = make(rule);
    if (!made.value) return made.problem ? { problem: made.problem } : {};
    routes.push(made.value);
    soft = made.problem ?? soft;
  }
  return { value: sortRoutes(routes), ...(soft ? { problem: soft } : {}) };
}

/** The order that the Gateway API asks for; stable, so that earlier rules win among equals. */
export function sortRoutes(routes: readonly HTTPRoute[]): readonly HTTPRoute[] {
  return [...routes].sort((a, b) => compareMatches(a.match?.[0], b.match?.[0]));
}

function ruleRoute(
  context: BackendContext,
  rule: HTTPRouteRule | GRPCRouteRule,
  head: HTTPRoute,
  finish: (route: HTTPRoute) => HTTPRoute,
): Outcome<HTTPRoute> {
  const filtered = routeFilters(context, rule.filters ?? []);
  if (!filtered.value) return filtered;
  const route = finish({ ...head, ...filtered.value });
  const refs = rule.backendRefs ?? [];
  // Without a backend that takes anything the answer is 500.
  if (weightSum(refs) === 0 && !route.redirect)
    return {
      value: { ...route, directResponse: { status: 500 } },
      ...(filtered.problem ? { problem: filtered.problem } : {}),
    };
  const destinations = destinationsOf(context, refs);
  if (!destinations.value) return destinations.problem ? { problem: destinations.problem } : {};
  const soft = joinProblems(destinations.problem, filtered.problem);
  return {
    value: { ...route, ...(destinations.value.length > 0 ? { route: destinations.value } : {}) },
    ...(soft ? { problem: soft } : {}),
  };
}

type BackendRefs = readonly (HTTPRouteBackendRef | GRPCRouteBackendRef)[];

function destinationsOf(context: BackendContext, refs: BackendRefs): Outcome<readonly HTTPRouteDestination[]> {
  const out: HTTPRouteDestination[] = [];
  let soft: Problem | undefined;
  for (const { ref, weight } of weighted(refs)) {
    const destination = backendDestination(context, ref);
    if (destination.problem && !isSoft(destination.problem)) return { problem: destination.problem };
    soft = destination.problem ?? soft;
    const headers = headerFilters(ref.filters ?? []);
    if (headers.problem) return { problem: headers.problem };
    out.push({
      destination: destination.value ?? {},
      ...(weight > 0 ? { weight } : {}),
      ...(headers.value ? { headers: headers.value } : {}),
    });
  }
  return { value: out, ...(soft ? { problem: soft } : {}) };
}

/** Retries on lost connections whenever a retry stanza is there; without one a backend timeout is the request's. */
function resilience({ retry, timeouts }: HTTPRouteRule): HTTPRoute {
  const attempts = retry?.attempts ?? 2;
  const retryOn = ["connect-failure", "refused-stream", "unavailable", "cancelled", ...(retry?.codes ?? [])].join(",");
  const perTry = nonZero(timeouts?.backendRequest);
  const request = nonZero(timeouts?.request);
  const timeout = !retry && perTry !== undefined ? perTry : request;
  return {
    ...(timeout === undefined ? {} : { timeout }),
    ...(retry
      ? {
          retries: {
            attempts,
            ...(attempts === 0 ? {} : { retryOn }),
            ...(retry.backoff === undefined ? {} : { backoff: retry.backoff }),
            ...(perTry === undefined ? {} : { perTryTimeout: perTry }),
          },
        }
      : {}),
  };
}
