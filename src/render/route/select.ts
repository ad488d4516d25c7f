/** A VirtualService and the place of its routes in; the routes that apply there, each with one match, in order, out. */
import type { RouteMatch } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import type { Config, HTTPMatchRequest, HTTPRoute, StringMatch, VirtualServiceSpec } from "../../model/index.ts";
import { isUsableRouteMatch, routeMatch, takesEverything } from "./match.ts";
import type { RouteSource } from "./place.ts";
import { routeSemantics } from "./semantics.ts";

export interface SelectedRoute {
  readonly route: HTTPRoute;
  readonly match: HTTPMatchRequest | undefined;
  readonly envoyMatch: RouteMatch;
  /** Path of the field, for provenance. */
  readonly field: string;
}

/** Of all matches of a VirtualService, those from here to there. */
export interface MatchBlock {
  readonly from: number;
  readonly to: number;
}

/** So many at once are made while nobody waits for long; one with patterns, which are compiled, counts for several. */
const blockSize = 250;
const patternSize = 5;

/** More than one for a VirtualService with very many matches. */
export function matchBlocks({ http = [] }: VirtualServiceSpec): readonly MatchBlock[] {
  const blocks: { from: number; to: number }[] = [];
  let [at, size] = [0, blockSize];
  const take = (own: number): void => {
    if (size + own > blockSize) {
      blocks.push({ from: at, to: at });
      size = 0;
    }
    const last = blocks.at(-1);
    if (last) last.to = ++at;
    size += own;
  };
  for (const { match = [] } of http) {
    if (match.length === 0) take(1);
    for (const one of match) take(hasPattern(one) ? patternSize : 1);
  }
  return blocks;
}

function hasPattern({
  uri,
  scheme,
  method,
  authority,
  headers,
  withoutHeaders,
  queryParams,
}: HTTPMatchRequest): boolean {
  const isOne = (text: StringMatch | undefined): boolean => text?.regex !== undefined;
  const hasOne = (texts: Readonly<Record<string, StringMatch>> | undefined): boolean =>
    texts !== undefined && Object.values(texts).some(isOne);
  return [uri, scheme, method, authority].some(isOne) || [headers, withoutHeaders, queryParams].some(hasOne);
}

export function* selectRoutes(
  config: Config<VirtualServiceSpec>,
  source: RouteSource,
  block?: MatchBlock,
): Generator<SelectedRoute> {
  const semantics = routeSemantics(config.meta);
  const excluded = new Set(source.excluded);
  const some = block
    ? candidates(config.spec)
        .drop(block.from)
        .take(block.to - block.from)
    : candidates(config.spec);
  for (const { route, match, field } of some) {
    if (excluded.has(field) || (match && !applies(match, source))) continue;
    const envoyMatch = routeMatch(match, semantics);
    // A match that Envoy would refuse cannot apply to anything.
    if (!isUsableRouteMatch(match, envoyMatch)) continue;
    yield { route, match, envoyMatch, field };
    // Whatever follows cannot be reached.
    if (takesEverything(envoyMatch)) return;
  }
}

export function appliesSomewhere(config: Config<VirtualServiceSpec> | undefined, source: RouteSource): boolean {
  return config !== undefined && selectRoutes(config, source).next().done !== true;
}

/** Whom traffic comes from. */
export interface Client {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Fields of the matches that are for other clients. */
export function excludedFor(config: Config<VirtualServiceSpec> | undefined, client: Client): readonly string[] {
  if (!config) return [];
  return [...candidates(config.spec)]
    .filter(({ match }) => match && !comesFrom(match, client))
    .map(({ field }) => field);
}

function* candidates(spec: VirtualServiceSpec): Generator<Omit<SelectedRoute, "envoyMatch">> {
  for (const [i, route] of (spec.http ?? []).entries()) {
    if (!route.match?.length) yield { route, match: undefined, field: `spec.http[${i}]` };
    for (const [j, match] of (route.match ?? []).entries())
      yield { route, match, field: `spec.http[${i}].match[${j}]` };
  }
}

function applies(match: HTTPMatchRequest, { port, gateway }: RouteSource): boolean {
  return (!match.port || match.port === port) && (!match.gateways?.length || match.gateways.includes(gateway));
}

/** Gateways named in the match stand in for everything else that it says about the source. */
function comesFrom(match: HTTPMatchRequest, { namespace, labels }: Client): boolean {
  if (match.gateways?.length) return true;
  const wanted = Object.entries(match.sourceLabels ?? {});
  if (!wanted.every(([name, value]) => labels[name] === value)) return false;
  return !match.sourceNamespace || match.sourceNamespace === namespace;
}
