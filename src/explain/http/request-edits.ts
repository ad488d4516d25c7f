/** A route and a request in; the request as it goes upstream out: path, authority and headers rewritten. */
import type { HeaderValueOption } from "../../gen/envoy/config/core/v3/base_pb.js";
import { HeaderValueOption_HeaderAppendAction as Append } from "../../gen/envoy/config/core/v3/base_pb.js";
import type { Route, RouteAction } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import type { RegexMatchAndSubstitute } from "../../gen/envoy/type/matcher/v3/regex_pb.js";
import { patternOf } from "../match/text.ts";
import { type Headers, type HttpRequest, headerOf, requestHeader } from "../request.ts";

interface Edits {
  readonly requestHeadersToAdd: readonly HeaderValueOption[];
  readonly requestHeadersToRemove: readonly string[];
}

/** `levels`: the narrowest first, as Envoy applies them. */
export function editHeaders(request: HttpRequest, levels: readonly (Edits | undefined)[]): HttpRequest {
  let edited = request;
  for (const edits of levels) if (edits) edited = { ...edited, ...applied(edited, edits) };
  return edited;
}

function applied(request: HttpRequest, { requestHeadersToAdd, requestHeadersToRemove }: Edits): Partial<HttpRequest> {
  const removed = new Set(requestHeadersToRemove.map((name) => name.toLowerCase()));
  let headers: Headers = request.headers.filter(([name]) => !removed.has(name));
  let { authority } = request;
  for (const { header, appendAction, append } of requestHeadersToAdd) {
    const name = header?.key.toLowerCase() ?? "";
    const value = filledIn(header?.value ?? "", request);
    if (name === ":authority" || name === "host") authority = value;
    else headers = put(headers, name, value, append === false ? Append.OVERWRITE_IF_EXISTS_OR_ADD : appendAction);
  }
  return { headers, authority };
}

function put(headers: Headers, name: string, value: string, action: Append): Headers {
  const there = headerOf(headers, name) !== undefined;
  const others = headers.filter(([key]) => key !== name);
  if (action === Append.ADD_IF_ABSENT) return there ? headers : [...headers, [name, value]];
  if (action === Append.OVERWRITE_IF_EXISTS) return there ? [...others, [name, value]] : headers;
  return action === Append.OVERWRITE_IF_EXISTS_OR_ADD ? [...others, [name, value]] : [...headers, [name, value]];
}

/** Of Envoy's commands those that depend on nothing but the request; the others stay as they are written. */
function filledIn(value: string, request: HttpRequest): string {
  return value
    .replace(
      /%REQ\(([^)?]+)(?:\?[^)]*)?\)%/gi,
      (_all, name: string) => requestHeader(request, name.toLowerCase()) ?? "-",
    )
    .replaceAll("%PROTOCOL%", request.version)
    .replaceAll("%%", "%");
}

export function rewrite(request: HttpRequest, route: Route, action: RouteAction, upstreamName: string): HttpRequest {
  const path = rewrittenPath(request.path, route, action);
  const authority = rewrittenAuthority(request, action, upstreamName);
  const original = path === request.path ? [] : [["x-envoy-original-path", request.path] as const];
  const forwarded =
    action.appendXForwardedHost && authority !== request.authority
      ? [["x-forwarded-host", request.authority] as const]
      : [];
  return { ...request, path, authority, headers: [...request.headers, ...original, ...forwarded] };
}

function rewrittenPath(path: string, route: Route, { prefixRewrite, regexRewrite }: RouteAction): string {
  if (regexRewrite) return rewriteBefore(path, regexRewrite);
  if (prefixRewrite === "") return path;
  return replaceMatched(path, route, prefixRewrite);
}

/** What the route's match took of the path gives way. */
export function replaceMatched(path: string, { match }: Route, replacement: string): string {
  const wanted = match?.pathSpecifier;
  if (wanted?.case === "prefix" || wanted?.case === "pathSeparatedPrefix")
    return replacement + path.slice(wanted.value.length);
  const rest = /[?#].*$/s.exec(path)?.[0] ?? "";
  return replacement + rest;
}

/** The query stays as it is. */
export function rewriteBefore(path: string, rule: RegexMatchAndSubstitute): string {
  const rest = /[?#].*$/s.exec(path)?.[0] ?? "";
  return (
    patternOf(rule.pattern?.regex ?? "").replaceAll(path.slice(0, path.length - rest.length), rule.substitution) + rest
  );
}

function rewrittenAuthority(
  request: HttpRequest,
  { hostRewriteSpecifier: wanted }: RouteAction,
  upstreamName: string,
): string {
  switch (wanted.case) {
    case "hostRewriteLiteral":
      return wanted.value;
    case "autoHostRewrite":
      return wanted.value.value && upstreamName !== "" ? upstreamName : request.authority;
    case "hostRewriteHeader":
      return headerOf(request.headers, wanted.value.toLowerCase()) ?? request.authority;
    default:
      return request.authority;
  }
}
