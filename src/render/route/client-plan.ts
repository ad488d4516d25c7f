/**
 * A client in; its virtual hosts at one place out, as differences from what everybody has there: bare names of its own
 * namespace's services, routes that ask where traffic comes from, and rules of its own that hash.
 */
import { sameData } from "../../collections/index.ts";
import type { BuildFacet, ClientFacet } from "../../model/index.ts";
import { buildFacet, clientFacet } from "../facets.ts";
import type { Steps } from "../layer.ts";
import { clientScope } from "../outbound/client-scope.ts";
import { clientDecisions, publicDecision, publicRuleLookup, ruleLookup } from "../outbound/decisions.ts";
import { isMade, keyOf, memberRecipe, recipe, wordsOf } from "../recipe.ts";
import type { View } from "../view.ts";
import { clientServicesAt, egressPlace, publicServicesAt } from "./egress.ts";
import {
  type Claim,
  claimants,
  claimOf,
  excludedOf,
  type HostPlan,
  hasRoutes,
  namesOf,
  noPlan,
  ownerOfService,
  ownerOfVirtualService,
  type PlannedHost,
  type Planning,
  planClaims,
  planHosts,
  servedDomains,
  withKey,
} from "./host-plan.ts";
import { hashingRule } from "./owner.ts";
import type { ServiceNames } from "./service-names.ts";

/** What everybody wants of a place; the key is the place's word. */
export const publicClaims = memberRecipe<BuildFacet, Claim, Claim>(buildFacet, "public route claims", {
  list(view, word) {
    const planning = publicPlanning(view, word);
    return planning ? claimants(planning) : [];
  },
  each(view, claimant, word) {
    const planning = publicPlanning(view, word);
    return planning && claimOf(planning, claimant);
  },
  whole: (claims) => [...claims.values()].flat(),
});

/** What everybody has there. */
export const publicPlan = recipe(buildFacet, "public route plan", (view, word): HostPlan => {
  const place = egressPlace(view.mesh.publicScope(view.proxy.type), word);
  return place ? planClaims({ view, place }, publicClaims(view, word)) : noPlan;
});

export type ClientPlan =
  /** The public plan with these hosts, by their place in it, instead of its own. */
  | { readonly onPublic: true; readonly instead: ReadonlyMap<number, PlannedHost> }
  | { readonly onPublic: false; readonly plan: HostPlan };

export const clientPlan = recipe(clientFacet, "route plan", (view, word): ClientPlan => {
  const planning = clientPlanning(view, word);
  if (!planning) return { onPublic: false, plan: noPlan };
  const instead = planning.scope.isPublic ? differences(view, planning, word) : undefined;
  return instead ? { onPublic: true, instead } : { onPublic: false, plan: planHosts(planning) };
});

/** Makes what the plan follows from name by name and claim by claim, which nothing need make again when it is asked for. */
export function* clientPlanSteps(view: View<ClientFacet>, word: string): Steps {
  if (isMade(clientPlan.ref(view, word))) return;
  const planning = clientPlanning(view, word);
  if (!planning) return;
  yield;
  if (planning.scope.isPublic) return yield* ownNames.steps(view, word);
  for (const claimant of claimants(planning)) {
    // It may be another one since.
    const now = clientPlanning(view, word);
    if (now) claimOf(now, claimant);
    yield;
  }
}

function publicPlanning(view: View<BuildFacet>, word: string): Planning | undefined {
  const scope = view.mesh.publicScope(view.proxy.type);
  const place = egressPlace(scope, word);
  const egress = place && scope.egress[place.index];
  if (!egress) return undefined;
  return {
    view,
    scope,
    egress,
    place,
    client: { namespace: "", labels: {} },
    services: publicServicesAt(view, place.port),
    ruleOf: publicRuleLookup(view),
  };
}

function clientPlanning(view: View<ClientFacet>, word: string): Planning | undefined {
  const scope = clientScope(view);
  const place = egressPlace(scope, word);
  const egress = place && scope.egress[place.index];
  if (!egress) return undefined;
  return {
    view,
    scope,
    egress,
    place,
    client: view.proxy,
    services: scope.isPublic ? publicServicesAt(view, place.port) : clientServicesAt(view, place),
    ruleOf: ruleLookup(view),
  };
}

/** Undefined where one host's difference could change another's: then the plan is made as a whole. */
function differences(
  view: View<ClientFacet>,
  planning: Planning,
  word: string,
): ReadonlyMap<number, PlannedHost> | undefined {
  const base = publicPlan(view, word);
  const owners = ownerChanges(view, planning, word);
  if (!owners) return undefined;
  const names = ownNames(view, word);
  const concerned = owners === "same" ? (base.byNamespace.get(view.proxy.namespace) ?? []) : base.hosts.keys();
  const instead = new Map<number, PlannedHost>();
  const added = new Set<string>();
  for (const i of concerned) {
    const host = base.hosts[i];
    if (!host) continue;
    const mine = host.service && names.get(nameKey(host.service));
    const domains = mine ? withOwnNames(planning, host, mine, base, added) : host.domains;
    if (!domains) return undefined;
    const owner = owners === "same" ? host.owner : owners(host);
    if (owner !== host.owner || !sameData(domains, host.domains)) instead.set(i, withKey({ ...host, owner, domains }));
  }
  return instead;
}

const nameKey = ({ key, port }: { readonly key: string; readonly port: number }): string => keyOf(key, String(port));

/** As clients of the namespace call the services that have bare names from there. */
const ownNames = memberRecipe<ClientFacet, ServiceNames, ReadonlyMap<string, ServiceNames>>(clientFacet, "own names", {
  list(view, word) {
    const { hosts, byNamespace } = publicPlan(view, word);
    return (byNamespace.get(view.proxy.namespace) ?? []).flatMap((i) => {
      const service = hosts[i]?.service;
      return service ? [nameKey(service)] : [];
    });
  },
  each(view, member, word) {
    const [key = "", port = ""] = wordsOf(member);
    const planning = clientPlanning(view, word);
    if (!planning?.egress.table.service(key)) return undefined;
    return namesOf(planning, key, Number(port), view.proxy.namespace);
  },
  whole: (names) => names,
});

/** Bare names are added, if nobody else wants them. */
function withOwnNames(
  { place }: Planning,
  { domains, service }: PlannedHost,
  mine: ServiceNames,
  { isWanted }: HostPlan,
  added: Set<string>,
): readonly string[] | undefined {
  for (const name of mine.bare) {
    const key = name.toLowerCase();
    if (isWanted(key) || added.has(key)) return undefined;
    added.add(key);
  }
  // Nobody has taken a name from it.
  if (domains.length === mine.usual) return mine.names;
  const claimed = new Set([...domains, ...mine.bare]);
  return servedDomains(
    place,
    service?.port ?? 0,
    mine.names.filter((name) => claimed.has(name)),
  );
}

/** Of everybody's VirtualServices, those that ask where traffic comes from: few, so that a client need not read them all. */
const sourcedKeys = recipe(
  buildFacet,
  "sourced routes",
  (view, word): readonly string[] => {
    const keys = publicPlanning(view, word)?.egress.virtualServiceKeys ?? [];
    return keys.filter((key) => view.mesh.virtualServiceHead(key)?.sourced);
  },
  sameData,
);

/** How the owner of each host comes out for this client; undefined where a VirtualService would come or go. */
function ownerChanges(
  view: View<ClientFacet>,
  planning: Planning,
  word: string,
): "same" | ((host: PlannedHost) => string) | undefined {
  const open: Planning = { ...planning, client: { namespace: "", labels: {} } };
  const excluded = new Map<string, readonly string[]>();
  for (const key of sourcedKeys(view, word)) {
    const head = view.mesh.virtualServiceHead(key);
    if (!head) continue;
    const [mine, usual] = [excludedOf(planning, head), excludedOf(open, head)];
    if (sameData(mine, usual)) continue;
    if (hasRoutes(planning, head, mine) !== hasRoutes(planning, head, usual)) return undefined;
    excluded.set(key, mine);
  }
  const rehashed = hashesOtherwise(view);
  if (!rehashed && excluded.size === 0) return "same";
  return ({ owner, virtualService, service }) => {
    if (virtualService !== undefined) {
      const mine = excluded.get(virtualService);
      const head = view.mesh.virtualServiceHead(virtualService);
      if (!head || (!rehashed && !mine)) return owner;
      return ownerOfVirtualService(planning, virtualService, mine ?? excludedOf(planning, head));
    }
    return rehashed && service ? ownerOfService(planning, service.host, service.key, service.port) : owner;
  };
}

/** Whether some rule of the client's own, or the one that it stands in for, hashes. */
function hashesOtherwise(view: View<ClientFacet>): boolean {
  const { services } = clientDecisions(view);
  if (services.size === 0) return false;
  return [...services].some(([key, { rule }]) =>
    [rule, publicDecision(view, key)?.rule ?? ""].some((ref) => ref !== "" && hashingRule(view, ref)),
  );
}
