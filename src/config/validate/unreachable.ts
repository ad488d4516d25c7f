/** The routes of a VirtualService in, warnings into the report for rules and matches that a rule before them takes all of. */
import { isRecord } from "../../lib/index.ts";
import type { HTTPMatchRequest, HTTPRoute, StringMatch, VirtualServiceSpec } from "../../model/index.ts";
import { quote, type Report } from "./report.ts";

/** TCP and TLS routes have no names. */
interface AnyRoute {
  readonly name?: string;
  readonly match?: readonly Named[];
}

interface Named {
  readonly name?: string;
  readonly gateways?: readonly string[];
}

/** Pauses where others may be let in. */
export function* checkUnreachable(report: Report, spec: VirtualServiceSpec): Generator<undefined, void> {
  const http = spec.http ?? [];
  checkRepeated(report, "http", http);
  yield;
  checkCoveredPrefixes(report, http);
  yield;
  checkRepeated(report, "tcp", spec.tcp ?? []);
  checkRepeated(report, "tls", spec.tls ?? []);
}

const nameOf = (named: { readonly name?: string } | undefined, index: number): string =>
  named?.name ? quote(named.name) : `#${index}`;

const unused = (rule: string, reason: string): string => `virtualService rule ${rule} not used (${reason})`;

const ineffective = (rule: string, match: string, before: string): string =>
  `virtualService rule ${rule} match ${match} is not used (duplicate/overlapping match in rule ${before})`;

function checkRepeated(report: Report, field: string, routes: readonly AnyRoute[]): void {
  const seen = new Map<string, number>();
  let catchAll = false;
  routes.forEach((route, i) => {
    const at = report.at(field, i);
    const rule = nameOf(route, i);
    const matches = route.match ?? [];
    if (matches.length === 0) {
      if (catchAll) at.warn(unused(rule, "only the last rule can have no matches"));
      catchAll = true;
      return;
    }
    let repeated = 0;
    matches.forEach((match, j) => {
      if (catchAll) {
        at.at("match", j).warn(unused(rule, "route without matches defined before"));
        return;
      }
      const key = conditionsOf(match);
      const before = seen.get(key);
      if (before === undefined) seen.set(key, i);
      else {
        at.at("match", j).warn(ineffective(rule, nameOf(match, j), nameOf(routes[before], before)));
        repeated++;
      }
    });
    if (repeated === matches.length) at.warn(unused(rule, "all matches used by prior rules"));
  });
}

/** The same text for the same conditions, in whatever order they were written. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isRecord(value)) return JSON.stringify(value) ?? "null";
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join()}}`;
}

/** A match's name tells nothing of what it matches. */
function conditionsOf({ name: _, ...match }: Named): string {
  return canonical(match);
}

interface PrefixMatch {
  readonly route: string;
  readonly match: string;
  readonly prefix: string;
  readonly port: number;
  readonly texts: readonly string[];
  readonly maps: readonly ReadonlyMap<string, string>[];
  readonly report: Report;
}

const maxCompared = 1_000;

/** `/a` before `/ab` with otherwise no narrower conditions takes all that the second was written for. */
function checkCoveredPrefixes(report: Report, routes: readonly HTTPRoute[]): void {
  // Each is compared with all before it: of very many only the first are.
  const prefixes = [...prefixMatches(report, routes).take(maxCompared)];
  prefixes.forEach((first, i) => {
    for (let j = i + 1; j < prefixes.length; j++) {
      const second = prefixes[j];
      if (!second || second.prefix === first.prefix || !covers(first, second)) continue;
      const match = `${second.match} of prefix ${second.prefix}`;
      second.report.warn(
        ineffective(second.route, match, `${first.match} of prefix ${first.prefix} on ${first.route}`),
      );
    }
  });
}

function* prefixMatches(report: Report, routes: readonly HTTPRoute[]): Generator<PrefixMatch> {
  const seen = new Set<string>();
  for (const [i, route] of routes.entries()) {
    const matches = route.match ?? [];
    // Nothing gets past a route that takes everything.
    if (matches.length === 0) return;
    for (const [j, match] of matches.entries()) {
      if (!match.uri?.prefix) continue;
      const key = conditionsOf(match);
      if (seen.has(key)) continue;
      seen.add(key);
      yield prefixMatch(report.at("http", i, "match", j), nameOf(route, i), nameOf(match, j), match);
    }
  }
}

function prefixMatch(report: Report, route: string, name: string, match: HTTPMatchRequest): PrefixMatch {
  return {
    report,
    route,
    match: name,
    prefix: match.uri?.prefix ?? "",
    port: match.port ?? 0,
    // Istio reads a match without a method as GET here.
    texts: [textOf(match.method) || "exact:GET", textOf(match.authority)],
    maps: [textsOf(match.headers), textsOf(match.queryParams), textsOf(match.withoutHeaders)],
  };
}

function textOf(match: StringMatch | undefined): string {
  if (match?.exact) return `exact:${match.exact}`;
  return match?.prefix ? `prefix:${match.prefix}` : "";
}

const textsOf = (matches: Readonly<Record<string, StringMatch>> | undefined): ReadonlyMap<string, string> =>
  new Map(Object.entries(matches ?? {}).map(([name, match]) => [name, textOf(match)]));

function covers(first: PrefixMatch, second: PrefixMatch): boolean {
  if (!second.prefix.startsWith(first.prefix) || second.port !== first.port) return false;
  if (!first.texts.every((text, i) => text.startsWith(second.texts[i] ?? ""))) return false;
  return first.maps.every((map, i) => {
    const other = second.maps[i] ?? new Map<string, string>();
    return (
      map.size === other.size &&
      [...map].every(([name, text]) => other.has(name) && text.startsWith(other.get(name) ?? ""))
    );
  });
}
