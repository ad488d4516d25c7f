/** A root's HTTP route and the routes of the delegate it names in, the routes that stand in its place out. */
import type { HTTPMatchRequest, HTTPRoute, StringMatch } from "../model/index.ts";

/** Routes of the delegate whose matches do not fit into the root's are left out. */
export function mergeDelegate(root: HTTPRoute, routes: readonly HTTPRoute[]): readonly HTTPRoute[] {
  return routes.flatMap((route) => mergeRoute(root, route) ?? []);
}

const inherited = [
  "rewrite",
  "directResponse",
  "timeout",
  "retries",
  "fault",
  "mirror",
  "mirrorPercent",
  "mirrorPercentage",
  "corsPolicy",
  "mirrors",
  "headers",
] as const satisfies readonly (keyof HTTPRoute)[];

function mergeRoute(root: HTTPRoute, route: HTTPRoute): HTTPRoute | undefined {
  const match = mergeMatches(root.match ?? [], route.match ?? []);
  if (!match) return undefined;
  const name = joinNames(root.name, route.name);
  const fromRoot = Object.fromEntries(
    inherited.flatMap((field) => (root[field] === undefined ? [] : [[field, root[field]]])),
  );
  return { ...fromRoot, ...defined(route), ...(match.length > 0 ? { match } : {}), ...(name ? { name } : {}) };
}

function mergeMatches(
  root: readonly HTTPMatchRequest[],
  leaf: readonly HTTPMatchRequest[],
): readonly HTTPMatchRequest[] | undefined {
  if (root.length === 0) return leaf;
  if (leaf.length === 0) return root;
  const merged: HTTPMatchRequest[] = [];
  for (const inner of leaf) {
    const outers = root.filter((outer) => !conflicts(outer, inner));
    if (outers.length === 0) return undefined;
    merged.push(...outers.map((outer) => mergeMatch(outer, inner)));
  }
  return merged;
}

const maps = [
  "headers",
  "withoutHeaders",
  "queryParams",
  "sourceLabels",
] as const satisfies readonly (keyof HTTPMatchRequest)[];
const scalars = [
  "uri",
  "scheme",
  "method",
  "authority",
  "port",
  "sourceNamespace",
  "statPrefix",
] as const satisfies readonly (keyof HTTPMatchRequest)[];

function mergeMatch(root: HTTPMatchRequest, leaf: HTTPMatchRequest): HTTPMatchRequest {
  const name = joinNames(root.name, leaf.name);
  const gateways = leaf.gateways?.length ? leaf.gateways : root.gateways;
  const fromRoot = Object.fromEntries(
    scalars.flatMap((field) => (leaf[field] ? [] : root[field] ? [[field, root[field]]] : [])),
  );
  const joined = Object.fromEntries(
    maps.flatMap((field) => (root[field] || leaf[field] ? [[field, { ...root[field], ...leaf[field] }]] : [])),
  );
  return { ...leaf, ...fromRoot, ...joined, ...(name ? { name } : {}), ...(gateways ? { gateways } : {}) };
}

function joinNames(root: string | undefined, leaf: string | undefined): string {
  if (!leaf) return root ?? "";
  return root ? `${root}-${leaf}` : leaf;
}

/** True when the inner match is not within the outer one, as far as istiod looks. */
function conflicts(root: HTTPMatchRequest, leaf: HTTPMatchRequest): boolean {
  const texts = (["uri", "scheme", "method", "authority"] as const).some((field) =>
    textConflicts(root[field], leaf[field]),
  );
  const tables = (["headers", "withoutHeaders", "queryParams"] as const).some((field) =>
    Object.entries(leaf[field] ?? {}).some(([key, value]) => textConflicts(own(root[field], key), value)),
  );
  if (texts || tables) return true;
  if ((root.ignoreUriCase ?? false) !== (leaf.ignoreUriCase ?? false)) return true;
  if (root.port && leaf.port && root.port !== leaf.port) return true;
  if (root.sourceNamespace && leaf.sourceNamespace !== root.sourceNamespace) return true;
  const labels = Object.entries(leaf.sourceLabels ?? {}).some(([key, value]) => {
    const outer = own(root.sourceLabels, key);
    return outer !== undefined && outer !== value;
  });
  return labels || gatewaysConflict(root.gateways ?? [], leaf.gateways ?? []);
}

function gatewaysConflict(root: readonly string[], leaf: readonly string[]): boolean {
  if (root.length === 0 || leaf.length === 0) return false;
  return root.length < leaf.length || leaf.some((gateway) => !root.includes(gateway));
}

function textConflicts(root: StringMatch | undefined, leaf: StringMatch | undefined): boolean {
  if (!root || !leaf) return false;
  const isSet = (match: StringMatch): boolean => Boolean(match.regex || match.prefix || match.exact);
  if ((root.regex && isSet(leaf)) || (leaf.regex && isSet(root))) return true;
  if (root.exact) return Boolean(leaf.prefix) || leaf.exact !== root.exact;
  if (root.prefix && leaf.prefix) return !leaf.prefix.startsWith(root.prefix);
  if (root.prefix && leaf.exact) return !leaf.exact.startsWith(root.prefix);
  return true;
}

function own<V>(map: Readonly<Record<string, V>> | undefined, key: string): V | undefined {
  return map && Object.hasOwn(map, key) ? map[key] : undefined;
}

function defined(route: HTTPRoute): HTTPRoute {
  return Object.fromEntries(Object.entries(route).filter(([, value]) => value !== undefined)) as HTTPRoute;
}
