/** A route configuration before and after in; which requests go elsewhere, or are treated otherwise, in words, out. */
import { toBinary } from "@bufbuild/protobuf";
import {
  type Route,
  type RouteAction,
  type RouteMatch,
  RouteMatchSchema,
  type VirtualHost,
  VirtualHostSchema,
} from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { type RouteConfiguration, RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import { type Resource, routeHosts } from "../../model/index.ts";
import { showMatch } from "../http/route-match.ts";
import type { Change, Pair } from "./change.ts";
import { clusterWord } from "./cluster-name.ts";
import { decoded } from "./decoded.ts";
import { fieldDifferences } from "./field-differences.ts";
import { answerStatus, movesOf, sharesOf, shareWord } from "./shares.ts";

export function routeChanges(pair: Pair): readonly Change[] {
  const { before, after } = pair;
  const name = after?.name ?? before?.name ?? "";
  const subject = "";
  if (!before) return [{ subject, text: `routes ${name} are new` }];
  if (!after) return [{ subject, text: `routes ${name} are gone` }];
  const [old, now] = hostsOfBoth(pair);
  const changes = [...changedHosts(old, now)].flatMap(hostChanges);
  if (changes.length > 0) return changes;
  const [a, b] = [decoded(RouteConfigurationSchema, before), decoded(RouteConfigurationSchema, after)];
  const fields = a && b ? fieldDifferences(a, b, ["virtualHosts"]) : [];
  if (fields.length > 0) return fields.map((text) => ({ subject, text: `routes ${name}: ${text}` }));
  const isSameOrder = old.every(({ hash }, i) => hash === now[i]?.hash);
  return isSameOrder ? [] : [{ subject, text: `routes ${name}: virtual hosts are in another order` }];
}

/** Names of virtual hosts that differ; of one that only one side has, all of its own. */
export function differingHosts(pair: Pair): readonly string[] {
  const changed = [...changedHosts(...hostsOfBoth(pair))];
  return [...new Set(changed.flatMap(({ was, is }) => (is ?? was)?.name ?? []))];
}

interface Host {
  /** Patches may add several of one name. */
  readonly name: string;
  readonly hash: string;
  host(): VirtualHost | undefined;
}

/** Only those that somebody looks at are decoded where the configuration comes apart. */
export function hostsOf(resource: Resource, isApart = true): readonly Host[] {
  const parts = isApart ? resource.hosts?.() : undefined;
  if (parts)
    return routeHosts(parts).map((host) => ({
      ...{ name: host.name.slice(resource.name.length + 1), hash: host.hash },
      host: () => decoded(VirtualHostSchema, host),
    }));
  const whole: RouteConfiguration | undefined = decoded(RouteConfigurationSchema, resource);
  return (whole?.virtualHosts ?? []).map((host) => ({
    ...{ name: host.name, hash: Buffer.from(toBinary(VirtualHostSchema, host)).toString("base64") },
    host: () => host,
  }));
}

/** Patched ones do not come apart, and hashes of the others' hosts are made in another way. */
function hostsOfBoth({ before, after }: Pair): readonly [before: readonly Host[], after: readonly Host[]] {
  const isApart = [before, after].every((resource) => !resource || resource.hosts !== undefined);
  const hosts = (resource: Resource | undefined): readonly Host[] => (resource ? hostsOf(resource, isApart) : []);
  return [hosts(before), hosts(after)];
}

interface HostPair {
  readonly was: Host | undefined;
  readonly is: Host | undefined;
  /** Others have the name too. */
  readonly isOneOfMany: boolean;
}

/** By name. Of several with one name those that have stayed as they were are set aside first: the others are in their order. */
function* changedHosts(before: readonly Host[], after: readonly Host[]): Generator<HostPair> {
  const [old, now] = [byName(before), byName(after)];
  for (const name of new Set([...old.keys(), ...now.keys()])) {
    const [had, has] = [old.get(name) ?? [], now.get(name) ?? []];
    const [gone, come] = [without(had, has), without(has, had)];
    for (let i = 0; i < Math.max(gone.length, come.length); i++)
      yield { was: gone[i], is: come[i], isOneOfMany: Math.max(had.length, has.length) > 1 };
  }
}

const byName = (hosts: readonly Host[]): ReadonlyMap<string, readonly Host[]> => Map.groupBy(hosts, ({ name }) => name);

function without(hosts: readonly Host[], others: readonly Host[]): readonly Host[] {
  const hashes = new Set(others.map(({ hash }) => hash));
  return hosts.filter(({ hash }) => !hashes.has(hash));
}

function hostChanges({ was, is, isOneOfMany }: HostPair): readonly Change[] {
  const [before, after] = [was?.host(), is?.host()];
  const subject = (is ?? was)?.name.replace(/:\d+$/, "") ?? "";
  const domains = isOneOfMany ? ` for ${(after ?? before)?.domains.join(", ")}` : "";
  if (!before) return [{ subject, text: `has routes${domains} now` }];
  if (!after) return [{ subject, text: `has no routes${domains} any more`, risk: "deny" }];
  const changes = [
    ...routesChanges(subject, before.routes, after.routes),
    ...fieldDifferences(before, after, ["routes", "name"]).map((text) => ({ subject, text })),
  ];
  return changes.length > 0 ? changes : [{ subject, text: "routes are in another order" }];
}

function routesChanges(subject: string, before: readonly Route[], after: readonly Route[]): readonly Change[] {
  const [old, now] = [byMatch(before), byMatch(after)];
  const changes: Change[] = [];
  for (const [key, route] of now) {
    const was = old.get(key);
    changes.push(...(was ? routeChange(subject, was, route) : [newRoute(subject, route)]));
  }
  for (const [key, { match }] of old)
    if (!now.has(key)) changes.push({ subject, text: `the route for ${requestsWord(match)} is gone` });
  if (before.some(isCatchAll) && !after.some(isCatchAll))
    changes.push({ subject, text: "requests that no route takes are answered with 404", risk: "deny" });
  return changes;
}

/** Routes that ask for the same are told apart by their place. */
function byMatch(routes: readonly Route[]): ReadonlyMap<string, Route> {
  const known = new Map<string, Route>();
  for (const route of routes) {
    const key = route.match ? Buffer.from(toBinary(RouteMatchSchema, route.match)).toString("base64") : "";
    let n = 0;
    while (known.has(`${key} ${n}`)) n++;
    known.set(`${key} ${n}`, route);
  }
  return known;
}

const isCatchAll = ({ match }: Route): boolean => match !== undefined && requestsWord(match) === "";

/** Empty for a route that takes everything. */
export function requestsWord(match: RouteMatch | undefined): string {
  if (!match) return "";
  const all = match.pathSpecifier.case === "prefix" && match.pathSpecifier.value === "/";
  const more = match.headers.length + match.queryParameters.length + match.dynamicMetadata.length > 0;
  if (all && !more && !match.grpc) return "";
  return showMatch(match).replace(all ? /^prefix \/, / : /^$/, "");
}

function newRoute(subject: string, route: Route): Change {
  const word = requestsWord(route.match) || "all other requests";
  const to = [...sharesOf(route).keys()].map((target) => targetWord(target, subject)).join(" and ");
  return { subject, text: `a new route for ${word}: ${to || "nowhere"}`, ...refusal([...sharesOf(route).keys()]) };
}

export function targetWord(target: string, host: string): string {
  const status = answerStatus(target);
  return status === undefined ? clusterWord(target, host) : `the answer ${status}`;
}

const refusal = (targets: readonly string[]): Pick<Change, "risk"> =>
  targets.some((target) => (answerStatus(target) ?? 0) >= 400) ? { risk: "deny" } : {};

function routeChange(subject: string, before: Route, after: Route): readonly Change[] {
  const word = requestsWord(after.match);
  const suffix = word === "" ? "" : ` with ${word}`;
  const moves = movesOf(sharesOf(before), sharesOf(after)).map(({ share, from, to }) => ({
    subject,
    text: `${shareWord(share)}${suffix} move from ${targetWord(from, subject)} to ${targetWord(to, subject)}`,
    ...refusal([to]),
  }));
  const rest = [
    ...fieldDifferences(before, after, ["action", "match", "metadata", "name", "statPrefix", "decorator"]),
    ...actionDifferences(before, after),
  ];
  return [...moves, ...rest.map((text) => ({ subject, text: word === "" ? text : `requests with ${word}: ${text}` }))];
}

/** But for where it leads. */
function actionDifferences(before: Route, after: Route): readonly string[] {
  if (before.action.case !== after.action.case) return [];
  const [old, now] = [before.action.value, after.action.value];
  if (!old || !now) return [];
  const weights = [before, after].map(({ action }) =>
    action.case === "route" ? withoutShares(action.value) : undefined,
  );
  return weights[0] === weights[1] || JSON.stringify(weights[0]) === JSON.stringify(weights[1])
    ? fieldDifferences(old, now, ["clusterSpecifier"])
    : [...fieldDifferences(old, now, ["clusterSpecifier"]), "headers or filters of its destinations change"];
}

/** Per destination what there is beside name and weight. */
function withoutShares({ clusterSpecifier: to }: RouteAction): unknown {
  if (to.case !== "weightedClusters") return undefined;
  return Object.fromEntries(
    to.value.clusters.map(({ name, weight, ...more }) => [name, Object.entries(more).map(([k, v]) => [k, showAny(v)])]),
  );
}

const showAny = (value: unknown): string =>
  JSON.stringify(value, (_key, inner: unknown) => (typeof inner === "bigint" ? String(inner) : inner));
