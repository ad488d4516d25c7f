/** Filters of HTTPRoutes and GRPCRoutes in; the fields of a VirtualService's route that do the same out. */
import { parseDuration } from "../../lib/index.ts";
import type {
  CorsPolicy,
  GatewayApiRequestHeaderModifier,
  GRPCRouteFilter,
  HTTPMirrorPolicy,
  HTTPRedirect,
  HTTPRewrite,
  HTTPRoute,
  HTTPRouteCors,
  HTTPRouteFilter,
  HTTPRouteRequestRedirect,
  HTTPRouteUrlRewrite,
  StringMatch,
} from "../../model/index.ts";
import { type BackendContext, backendDestination } from "./backend.ts";
import { joinProblems, type Outcome, type Problem, problem } from "./problem.ts";

type Headers = NonNullable<HTTPRoute["headers"]>;
type Operations = NonNullable<Headers["request"]>;
type Filter = HTTPRouteFilter | GRPCRouteFilter;

/** Only header modifiers make sense for one backend. */
export function headerFilters(filters: readonly Filter[]): Outcome<Headers | undefined> {
  let headers: Headers | undefined;
  for (const filter of filters) {
    const made = headerFilter(filter);
    if (!made) return { problem: problem("InvalidFilter", `unsupported filter type "${filter.type ?? ""}"`) };
    if (made.problem) return made;
    headers = { ...headers, ...made.value };
  }
  return { value: headers };
}

/** A filter of an unknown type fails the whole route: silently leaving it out could open what it was to close. */
export function routeFilters(context: BackendContext, filters: readonly Filter[]): Outcome<HTTPRoute> {
  let route: HTTPRoute = {};
  let soft: Problem | undefined;
  for (const filter of filters) {
    const made = headerFilter(filter);
    if (made?.problem) return { problem: made.problem };
    if (made) {
      route = { ...route, headers: { ...route.headers, ...made.value } };
      continue;
    }
    const other = otherFilter(context, filter, route);
    if (!other.value) return other;
    route = { ...route, ...other.value };
    soft = joinProblems(soft, other.problem);
  }
  return { value: route, ...(soft ? { problem: soft } : {}) };
}

function otherFilter(context: BackendContext, filter: Filter, route: HTTPRoute): Outcome<HTTPRoute> {
  if (filter.type === "RequestMirror") {
    const mirror = mirrorOf(context, filter);
    return mirror.value
      ? { value: { mirrors: [...(route.mirrors ?? []), mirror.value] } }
      : { value: {}, ...(mirror.problem ? { problem: mirror.problem } : {}) };
  }
  if ("requestRedirect" in filter && filter.type === "RequestRedirect" && filter.requestRedirect)
    return { value: { redirect: redirectOf(filter.requestRedirect) } };
  if ("urlRewrite" in filter && filter.type === "URLRewrite" && filter.urlRewrite) {
    const rewrite = rewriteOf(filter.urlRewrite);
    return { value: rewrite ? { rewrite } : {} };
  }
  if ("cors" in filter && filter.type === "CORS" && filter.cors) return { value: { corsPolicy: corsOf(filter.cors) } };
  return { problem: problem("InvalidFilter", `unsupported filter type "${filter.type ?? ""}"`) };
}

function headerFilter(filter: Filter): Outcome<Headers> | undefined {
  if (filter.type === "RequestHeaderModifier") return operations(filter.requestHeaderModifier, "request");
  if (filter.type === "ResponseHeaderModifier") return operations(filter.responseHeaderModifier, "response");
  return undefined;
}

function operations(
  modifier: GatewayApiRequestHeaderModifier | undefined,
  side: "request" | "response",
): Outcome<Headers> {
  if (!modifier) return { value: {} };
  const bad = [...(modifier.set ?? []), ...(modifier.add ?? [])].find(({ value = "" }) => !isHeaderValue(value));
  if (bad) return { problem: problem("InvalidFilter", `header "${bad.name ?? ""}" value contains invalid characters`) };
  const made: Operations = {
    ...(modifier.add?.length ? { add: headerMap(modifier.add) } : {}),
    ...(modifier.remove?.length ? { remove: modifier.remove } : {}),
    ...(modifier.set?.length ? { set: headerMap(modifier.set) } : {}),
  };
  return { value: { [side]: made } };
}

/** Visible characters, spaces, tabs, and bytes beyond ASCII. */
function isHeaderValue(value: string): boolean {
  for (let i = 0; i < value.length; i++) {
    const c = value.charCodeAt(i);
    if (c !== 0x09 && (c < 0x20 || c === 0x7f)) return false;
  }
  return true;
}

/** Of entries with the same name the first counts. */
function headerMap(
  list: readonly { readonly name?: string; readonly value?: string }[],
): Readonly<Record<string, string>> {
  const map = new Map<string, string>();
  for (const { name = "", value = "" } of list) if (!map.has(name.toLowerCase())) map.set(name.toLowerCase(), value);
  return Object.fromEntries(map);
}

function mirrorOf(context: BackendContext, { requestMirror }: Filter): Outcome<HTTPMirrorPolicy> {
  const { backendRef = {}, fraction, percent } = requestMirror ?? {};
  const destination = backendDestination(context, backendRef);
  if (destination.problem || !destination.value) return destination.problem ? { problem: destination.problem } : {};
  const value = fraction ? (100 * (fraction.numerator ?? 0)) / (fraction.denominator ?? 100) : percent;
  return { value: { destination: destination.value, ...(value === undefined ? {} : { percentage: { value } }) } };
}

function redirectOf({ statusCode, hostname, scheme, port, path }: HTTPRouteRequestRedirect): HTTPRedirect {
  return {
    ...(statusCode === undefined ? {} : { redirectCode: statusCode }),
    ...(hostname === undefined ? {} : { authority: hostname }),
    ...(scheme === undefined ? {} : { scheme }),
    ...(port === undefined
      ? { derivePort: scheme === undefined ? ("FROM_REQUEST_PORT" as const) : ("FROM_PROTOCOL_DEFAULT" as const) }
      : { port }),
    ...(path?.type === "ReplaceFullPath" ? { uri: path.replaceFullPath ?? "" } : {}),
    ...(path?.type === "ReplacePrefixMatch" ? { prefixRewrite: path.replacePrefixMatch ?? "" } : {}),
  };
}

function rewriteOf({ hostname, path }: HTTPRouteUrlRewrite): HTTPRewrite | undefined {
  const prefix = (path?.replacePrefixMatch ?? "").replace(/\/$/, "") || "/";
  const rewrite: HTTPRewrite = {
    ...(path?.type === "ReplacePrefixMatch" ? { uri: prefix } : {}),
    ...(path?.type === "ReplaceFullPath"
      ? { uriRegexRewrite: { match: "/.*", rewrite: path.replaceFullPath ?? "" } }
      : {}),
    ...(hostname ? { authority: hostname } : {}),
  };
  return Object.keys(rewrite).length > 0 ? rewrite : undefined;
}

function corsOf(cors: HTTPRouteCors): CorsPolicy {
  return {
    allowOrigins: (cors.allowOrigins ?? []).filter((origin) => origin !== "").map(originMatch),
    ...(cors.allowCredentials ? { allowCredentials: true } : {}),
    ...(cors.allowMethods ? { allowMethods: cors.allowMethods } : {}),
    ...(cors.allowHeaders ? { allowHeaders: cors.allowHeaders } : {}),
    ...(cors.exposeHeaders ? { exposeHeaders: cors.exposeHeaders } : {}),
    ...(cors.maxAge && cors.maxAge > 0 ? { maxAge: `${cors.maxAge}s` } : {}),
    unmatchedPreflights: "IGNORE",
  };
}

function originMatch(origin: string): StringMatch {
  if (origin === "*") return { regex: "^[a-zA-Z][a-zA-Z0-9+.-]*://[^/\\s?#]+$" };
  const stars = origin.split("*").length - 1;
  if (stars === 0) return { exact: origin };
  if (stars === 1 && origin.endsWith("*")) return { prefix: origin.slice(0, -1) };
  return { regex: `^${origin.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&").replaceAll("\\*", ".*")}$` };
}

/** Undefined for what is no duration, and for zero, which means that nothing is set. */
export function nonZero(duration: string | undefined): string | undefined {
  return duration !== undefined && parseDuration(duration) ? duration : undefined;
}
