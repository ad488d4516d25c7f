/** A sidecar in; its route configurations out, as lists of virtual hosts that all who decided alike share. */
import { type BuildFacet, type ClientFacet, types } from "../../model/index.ts";
import { buildFacet, clientFacet, egressFacet } from "../facets.ts";
import { type Steps, step } from "../layer.ts";
import { memberRecipe, recipe, resourceRecipe, wordsOf } from "../recipe.ts";
import type { View } from "../view.ts";
import { assembleRoutes, type HostList, hostList } from "./assembly.ts";
import { catchAllHost } from "./catch-all.ts";
import { clientPlan, clientPlanSteps, publicPlan } from "./client-plan.ts";
import { parseRouteName, placeWord } from "./egress.ts";
import type { PlannedHost } from "./host-plan.ts";
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
export const publicHostSteps = (view: View<BuildFacet>, word: string): Steps => publicHosts.steps(view, word);

/** As a proxy has it that nothing tells apart from others. */
export const publicRoute = resourceRecipe(egressFacet, types.route, (view, key) => {
  const parsed = parseRouteName(wordsOf(key)[0] ?? "");
  if (!parsed) return undefined;
  return assembleRoutes(parsed.name, publicHosts(view, placeWord(parsed)), { last: catchAllHost(view) });
});

/** As a client has it that sees the mesh otherwise. */
export const clientRoute = resourceRecipe(clientFacet, types.route, (view, key) => {
  const parsed = parseRouteName(wordsOf(key)[0] ?? "");
  if (!parsed) return undefined;
  const word = placeWord(parsed);
  const plan = clientPlan(view, word);
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
  prepare: (view, key) => ownerSteps(view, wordsOf(key)[1] ?? ""),
  whole: (hosts) => hosts,
  equals: Object.is,
});

/** Makes the plan of a place, and the hosts there that the client has and others have not, one by one. */
export function* clientHostSteps(view: View<ClientFacet>, word: string): Steps {
  yield* clientPlanSteps(view, word);
  yield* step(clientPlan.ref(view, word));
  yield* ownHosts.steps(view, word);
}

/** Whether the client's routes for all hosts of a place are everybody's. */
export function isPublicPlace(view: View<ClientFacet>, word: string): boolean {
  const plan = clientPlan(view, word);
  return plan.onPublic && plan.instead.size === 0;
}

export function hostsFor(view: View<ClientFacet>, word: string): readonly PlannedHost[] {
  const plan = clientPlan(view, word);
  return plan.onPublic ? publicPlan(view, word).hosts.map((host, i) => plan.instead.get(i) ?? host) : plan.plan.hosts;
}
