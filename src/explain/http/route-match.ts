/** A request and the routes of a virtual host in; the first route that matches, and why those before it did not, out. */
import type { Route, RouteMatch } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { matchesHeader, matchesQuery, showHeader } from "../match/header.ts";
import { type Metadata, matchesMetadata, showMetadata } from "../match/metadata.ts";
import { matchesTemplate, plainPath, templateOf } from "../match/path.ts";
import { matchesRegex } from "../match/text.ts";
import { type HttpRequest, isGrpc } from "../request.ts";

export interface RouteContext {
  readonly request: HttpRequest;
  readonly metadata: Metadata;
  /** Whether the client showed a certificate. */
  readonly peer: string | undefined;
  readonly tls: boolean;
  /** Of routes that take only some requests, whether this one is taken. */
  sampled(odds: number): boolean;
}

export interface RouteFound {
  readonly route: Route | undefined;
  readonly lost: readonly string[];
}

export function findRoute(routes: readonly Route[], context: RouteContext): RouteFound {
  const lost: string[] = [];
  for (const [index, route] of routes.entries()) {
    const why = route.match ? mismatch(route.match, context) : "no match";
    if (why === undefined) return { route, lost };
    lost.push(`${route.name || `route ${index}`}: ${why}`);
  }
  return { route: undefined, lost };
}

/** Undefined where it matches. */
export function mismatch(match: RouteMatch, context: RouteContext): string | undefined {
  const { request } = context;
  const path = pathMismatch(match, request);
  if (path !== undefined) return path;
  if (match.grpc && !isGrpc(request)) return "only for gRPC";
  const header = match.headers.find((matcher) => !matchesHeader(matcher, request));
  if (header) return showHeader(header);
  const query = match.queryParameters.find((matcher) => !matchesQuery(matcher, request.path));
  if (query) return `query parameter ${query.name}`;
  const metadata = match.dynamicMetadata.find((matcher) => !matchesMetadata(matcher, context.metadata));
  if (metadata) return `metadata ${showMetadata(metadata)}`;
  const { presented } = match.tlsContext ?? {};
  if (presented !== undefined && presented !== (context.peer !== undefined)) return "certificate of the client";
  const fraction = match.runtimeFraction?.defaultValue;
  if (fraction && !context.sampled(oddsOf(fraction))) return "only for a part of the requests";
  return undefined;
}

function pathMismatch(
  { pathSpecifier: wanted, caseSensitive = true }: RouteMatch,
  { path, method }: HttpRequest,
): string | undefined {
  if (wanted.case === "connectMatcher") return method === "CONNECT" ? undefined : "only for CONNECT";
  if (method === "CONNECT") return "not for CONNECT";
  const fold = (text: string): string => (caseSensitive ? text : text.toLowerCase());
  const plain = plainPath(path);
  switch (wanted.case) {
    case "prefix":
      return fold(plain).startsWith(fold(wanted.value)) ? undefined : `path prefix ${wanted.value}`;
    case "path":
      return fold(plain) === fold(wanted.value) ? undefined : `path ${wanted.value}`;
    case "safeRegex":
      return matchesRegex(wanted.value, plain) ? undefined : `path regex ${wanted.value.regex}`;
    case "pathSeparatedPrefix": {
      const [prefix, text] = [fold(wanted.value), fold(plain)];
      return text === prefix || text.startsWith(`${prefix}/`) ? undefined : `path prefix ${wanted.value}`;
    }
    case "pathMatchPolicy": {
      const template = templateOf(wanted.value);
      return template !== undefined && matchesTemplate(template, plain)
        ? undefined
        : `path template ${template ?? "?"}`;
    }
    default:
      return "no path";
  }
}

/** HUNDRED, TEN_THOUSAND, MILLION. */
const denominators = [100, 10_000, 1_000_000];

export const oddsOf = ({
  numerator,
  denominator,
}: {
  readonly numerator: number;
  readonly denominator: number;
}): number => Math.min(1, numerator / (denominators[denominator] ?? 100));

/** For people: what the route asks for. */
export function showMatch({ pathSpecifier: wanted, headers, queryParameters }: RouteMatch): string {
  const path =
    wanted.case === "safeRegex"
      ? `regex ${wanted.value.regex}`
      : wanted.case === "prefix" || wanted.case === "pathSeparatedPrefix"
        ? `prefix ${wanted.value}`
        : wanted.case === "path"
          ? wanted.value
          : (wanted.case ?? "");
  return [path, ...headers.map(showHeader), ...queryParameters.map(({ name }) => `query ${name}`)].join(", ");
}
