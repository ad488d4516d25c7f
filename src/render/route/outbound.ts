/** A sidecar in; its route configurations out, as lists of virtual hosts that all who decided alike share. */
import { type BuildFacet, type ClientFacet, type EgressFacet, type Resource, types } from "../../model/index.ts";
import { buildFacet, clientFacet, egressFacet } from "../facets.ts";
import type { Steps } from "../layer.ts";
import { memberRecipe, recipe, resourceRecipe, wordsOf } from "../recipe.ts";
import type { View } from "../view.ts";
import { assembleRoutes, type HostList, hostList } from "./assembly.ts";
import { catchAllHost } from "./catch-all.ts";
import { clientPlan, publicClaims, publicPlan } from "./client-plan.ts";
import { parseRouteName, placeWord, type RouteName } from "./egress.ts";
import { type PlannedHost, withKey } from "./host-plan.ts";
import { ownerRoutes, ownerSteps } from "./owner.ts";
import { includesAttemptCount } from "./proxy-headers.ts";
import { type HostPart, sameHost, virtualHostPart } from "./virtual-host.ts";

export const virtualHost = recipe(
  buildFacet,
  "virtual host",
  (view, key): HostPart => {
    const [name = "", owner = "", ...domains] = wordsOf(key);
    const shell = { name, domains, includeRequestAttemptCount: includesAttemptCount(view.proxy) };
    return virtualHostPart(shell, [ownerRoutes(view, owner)]);
  },
  sameHost,
);

/** What everybody has at a place. */
const publicHosts = memberRecipe<BuildFacet, HostPart, HostList>(buildFacet, "public virtual hosts", {
  list: (view, word) => publicPlan(view, word).hosts.map(({ key }) => key),
  each: (view, key) => virtualHost(view, key),
  prepare: (view, key) => ownerSteps(view, wordsOf(key)[1] ?? ""),
  whole: (hosts) => hostList([...hosts.values()]),
  equals: Object.is,
});

/** Makes the hosts of a place one by one. */
export function* publicHostSteps(view: View<BuildFacet>, name: string): Steps {
  const parsed = parseRouteName(name);
  if (!parsed) return;
  yield* publicClaims.steps(view, placeWord(parsed));
  yield* publicHosts.steps(view, placeWord(parsed));
}

/** As a proxy has it that nothing tells apart from others. */
export const publicRoute = resourceRecipe(egressFacet, types.route, (view, key) => {
  const parsed = parseRouteName(wordsOf(key)[0] ?? "");
  if (!parsed) return undefined;
  if (parsed.host !== undefined) return ownListenersRoute(view, parsed, publicPlan(view, placeWord(parsed)).hosts);
  return assembleRoutes(parsed.name, publicHosts(view, placeWord(parsed)), { last: catchAllHost(view) });
});

/** As a client has it that sees the mesh otherwise. */
export const clientRoute = resourceRecipe(clientFacet, types.route, (view, key) => {
  const parsed = parseRouteName(wordsOf(key)[0] ?? "");
  if (!parsed) return undefined;
  const word = placeWord(parsed);
  const plan = clientPlan(view, word);
  if (parsed.host !== undefined) return ownListenersRoute(view, parsed, hostsFor(view, word));
  const own = ownHosts(view, word);
  const made = (host: PlannedHost): HostPart => own.get(host.key) ?? virtualHost(view, host.key);
  const last = catchAllHost(view);
  if (!plan.onPublic) return assembleRoutes(parsed.name, hostList(plan.plan.hosts.map(made)), { last });
  const instead = new Map(plan.instead.entries().map(([i, host]) => [i, made(host)]));
  return assembleRoutes(parsed.name, publicHosts(view, word), { instead, last });
});

/** Those that the client has and others have not, by their keys. */
const ownHosts = memberRecipe<ClientFacet, HostPart, ReadonlyMap<string, HostPart>>(clientFacet, "own virtual hosts", {
  list(view, word) {
    const plan = clientPlan(view, word);
    return plan.onPublic ? [...plan.instead.values()].map(({ key }) => key) : plan.plan.hosts.map(({ key }) => key);
  },
  each: (view, key) => virtualHost(view, key),
  whole: (hosts) => hosts,
  equals: Object.is,
});

/** Whether the client's routes of that name are everybody's. */
export function isPublicRoute(view: View<ClientFacet>, name: string): boolean {
  const parsed = parseRouteName(name);
  if (!parsed) return true;
  const plan = clientPlan(view, placeWord(parsed));
  if (!plan.onPublic) return false;
  if (plan.instead.size === 0) return true;
  if (parsed.host === undefined) return false;
  const mine = namedHost(parsed, hostsFor(view, placeWord(parsed)));
  const usual = namedHost(parsed, publicPlan(view, placeWord(parsed)).hosts);
  return mine?.name === usual?.name && mine?.owner === usual?.owner;
}

export function hostsFor(view: View<ClientFacet>, word: string): readonly PlannedHost[] {
  const plan = clientPlan(view, word);
  return plan.onPublic ? publicPlan(view, word).hosts.map((host, i) => plan.instead.get(i) ?? host) : plan.plan.hosts;
}

/** The listener is the service's own, so whatever arrives there is for it, and for this port of it. */
function ownListenersRoute(view: View<EgressFacet>, parsed: RouteName, hosts: readonly PlannedHost[]): Resource {
  const own = namedHost(parsed, hosts);
  return assembleRoutes(parsed.name, hostList(own ? [virtualHost(view, withKey({ ...own, domains: ["*"] }).key)] : []));
}

function namedHost({ name, host = "" }: RouteName, hosts: readonly PlannedHost[]): PlannedHost | undefined {
  const named = hosts.find((candidate) => candidate.name === name);
  return named?.domains.some((domain) => domain === host || domain === name)
    ? named
    : hosts.find(({ domains }) => domains.includes(host));
}
