/** Envoy's matchers of headers and of query parameters, and a request, in; whether they match out. */
import type { HeaderMatcher, QueryParameterMatcher } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { type HttpRequest, requestHeader } from "../request.ts";
import { matchesRegex, matchesText, showText } from "./text.ts";

export function matchesHeader(matcher: HeaderMatcher, request: HttpRequest): boolean {
  const { headerMatchSpecifier: wanted, invertMatch } = matcher;
  const found = requestHeader(request, matcher.name.toLowerCase());
  if (wanted.case === "presentMatch") return ((found !== undefined) === wanted.value) !== invertMatch;
  if (wanted.case === undefined) return (found !== undefined) !== invertMatch;
  // Inverted or not: what is not there is not compared, unless it counts as empty.
  if (found === undefined && !matcher.treatMissingHeaderAsEmpty) return false;
  return matchesValue(matcher, found ?? "") !== invertMatch;
}

function matchesValue({ headerMatchSpecifier: wanted }: HeaderMatcher, value: string): boolean {
  switch (wanted.case) {
    case "exactMatch":
      return value === wanted.value;
    case "prefixMatch":
      return value.startsWith(wanted.value);
    case "suffixMatch":
      return value.endsWith(wanted.value);
    case "containsMatch":
      return value.includes(wanted.value);
    case "safeRegexMatch":
      return matchesRegex(wanted.value, value);
    case "stringMatch":
      return matchesText(wanted.value, value);
    case "rangeMatch":
      return /^-?\d+$/.test(value) && BigInt(value) >= wanted.value.start && BigInt(value) < wanted.value.end;
    default:
      return false;
  }
}

export function matchesQuery(
  { name, queryParameterMatchSpecifier: wanted }: QueryParameterMatcher,
  path: string,
): boolean {
  const value = queryOf(path).get(name);
  if (wanted.case === "presentMatch") return (value !== undefined) === wanted.value;
  if (value === undefined) return false;
  return wanted.case === undefined || matchesText(wanted.value, value);
}

/** The first of a name counts; nothing is decoded. */
export function queryOf(path: string): ReadonlyMap<string, string> {
  const query = /\?([^#]*)/.exec(path)?.[1] ?? "";
  const out = new Map<string, string>();
  for (const pair of query.split("&")) {
    const at = pair.indexOf("=");
    const [name, value] = at < 0 ? [pair, ""] : [pair.slice(0, at), pair.slice(at + 1)];
    if (name !== "" && !out.has(name)) out.set(name, value);
  }
  return out;
}

export function showHeader({ name, headerMatchSpecifier: wanted, invertMatch }: HeaderMatcher): string {
  const not = invertMatch ? "not " : "";
  if (wanted.case === undefined || wanted.case === "presentMatch") return `header ${name} ${not}present`;
  if (wanted.case === "stringMatch") return `header ${name} ${not}${showText(wanted.value)}`;
  if (wanted.case === "safeRegexMatch") return `header ${name} ${not}regex ${wanted.value.regex}`;
  if (wanted.case === "rangeMatch") return `header ${name} ${not}from ${wanted.value.start} to ${wanted.value.end}`;
  return `header ${name} ${not}${wanted.case.replace("Match", "")} ${wanted.value}`;
}
