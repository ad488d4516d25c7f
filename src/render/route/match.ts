/** One match of a VirtualService's HTTP route in, Envoy's RouteMatch out. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type HeaderMatcher,
  HeaderMatcherSchema,
  type QueryParameterMatcher,
  QueryParameterMatcherSchema,
  type RouteMatch,
  RouteMatchSchema,
} from "../../gen/envoy/config/route/v3/route_components_pb.js";
import type { MetadataMatcher } from "../../gen/envoy/type/matcher/v3/metadata_pb.js";
import { compareText, sortBy } from "../../lib/index.ts";
import type { HTTPMatchRequest, StringMatch } from "../../model/index.ts";
import { brokenConstraint } from "../build/constraints.ts";
import { claimMatcher, claimPath } from "./jwt-claim.ts";
import { isUsablePattern } from "./pattern.ts";
import type { RouteSemantics } from "./semantics.ts";
import { asksPresenceOnly, isUsableMatch, stringMatcher } from "./string-match.ts";

type PathSpecifier = NonNullable<MessageInitShape<typeof RouteMatchSchema>["pathSpecifier"]>;

export function routeMatch(match: HTTPMatchRequest | undefined, semantics: RouteSemantics): RouteMatch {
  if (!match) return create(RouteMatchSchema, { pathSpecifier: pathSpecifier(undefined, semantics) });
  return create(RouteMatchSchema, {
    pathSpecifier: pathSpecifier(match.uri, semantics),
    caseSensitive: !(match.ignoreUriCase ?? false),
    headers: headerMatchers(match),
    queryParameters: sortBy(Object.entries(match.queryParams ?? {}), ([name]) => name).map(([name, value]) =>
      queryMatcher(name, value),
    ),
    dynamicMetadata: claimMatchers(match),
  });
}

/** False where Envoy would refuse something in it. */
export function isUsableRouteMatch(match: HTTPMatchRequest | undefined, built: RouteMatch): boolean {
  if (brokenConstraint(RouteMatchSchema, built) !== undefined) return false;
  const named = [match?.headers, match?.withoutHeaders, match?.queryParams].flatMap((map) => Object.values(map ?? {}));
  return (
    (match?.uri?.regex === undefined || isUsablePattern(match.uri.regex)) &&
    [...named, match?.method, match?.authority, match?.scheme].every(isUsableMatch)
  );
}

/** Nothing behind such a route can be reached. */
export function takesEverything(match: RouteMatch): boolean {
  const { case: kind, value } = match.pathSpecifier;
  const path =
    ((kind === "prefix" || kind === "pathSeparatedPrefix") && value === "/") ||
    (kind === "safeRegex" && value.regex === ".*");
  return path && match.headers.length + match.queryParameters.length + match.dynamicMetadata.length === 0;
}

/** Ingress and Gateway API prefixes end at a slash; a VirtualService's are plain text. */
function pathSpecifier(uri: StringMatch | undefined, semantics: RouteSemantics): PathSpecifier {
  if (uri?.exact !== undefined) return { case: "path", value: uri.exact };
  if (uri?.regex !== undefined) return { case: "safeRegex", value: { regex: uri.regex } };
  const prefix = uri?.prefix ?? "/";
  if (semantics === "virtual-service" || prefix === "/") return { case: "prefix", value: prefix };
  return { case: "pathSeparatedPrefix", value: prefix.endsWith("/") ? prefix.slice(0, -1) : prefix };
}

/** Named headers in order of their names, then the pseudo headers. */
function headerMatchers(match: HTTPMatchRequest): HeaderMatcher[] {
  const wanted = ordinaryHeaders(match.headers).map(([name, value]) => headerMatcher(name, value));
  const unwanted = ordinaryHeaders(match.withoutHeaders).map(([name, value]) => absentMatcher(name, value));
  const named = [...wanted, ...unwanted].sort((a, b) => compareText(a.name, b.name));
  const pseudo = [
    match.method && headerMatcher(":method", match.method),
    match.authority && headerMatcher(":authority", match.authority),
    match.scheme && headerMatcher(":scheme", match.scheme),
  ];
  return [...named, ...pseudo.filter((matcher) => matcher !== undefined)];
}

function ordinaryHeaders(headers: HTTPMatchRequest["headers"]): readonly (readonly [string, StringMatch])[] {
  return Object.entries(headers ?? {}).filter(([name]) => claimPath(name) === undefined);
}

function headerMatcher(name: string, match: StringMatch): HeaderMatcher {
  const matcher = asksPresenceOnly(match) ? undefined : stringMatcher(match);
  return create(HeaderMatcherSchema, {
    name,
    headerMatchSpecifier: matcher ? { case: "stringMatch", value: matcher } : { case: "presentMatch", value: true },
  });
}

/** A missing header differs from any value; Envoy refuses to say so together with a presence match. */
function absentMatcher(name: string, match: StringMatch): HeaderMatcher {
  const matcher = headerMatcher(name, match);
  matcher.invertMatch = true;
  matcher.treatMissingHeaderAsEmpty = !asksPresenceOnly(match);
  return matcher;
}

function queryMatcher(name: string, match: StringMatch): QueryParameterMatcher {
  const matcher = asksPresenceOnly(match) ? undefined : stringMatcher(match);
  return create(QueryParameterMatcherSchema, {
    name,
    queryParameterMatchSpecifier: matcher
      ? { case: "stringMatch", value: matcher }
      : { case: "presentMatch", value: true },
  });
}

function claimMatchers(match: HTTPMatchRequest): MetadataMatcher[] {
  const matchers = (headers: HTTPMatchRequest["headers"], invert: boolean): MetadataMatcher[] =>
    sortBy(Object.entries(headers ?? {}), ([name]) => name).flatMap(([name, value]) => {
      const claims = claimPath(name);
      return claims ? [claimMatcher(claims, value, invert)] : [];
    });
  return [...matchers(match.headers, false), ...matchers(match.withoutHeaders, true)];
}
