/**
 * What a client sees in; which clusters and endpoints it has, by reference, out. Most namespaces see the same: what all
 * see is decided once, and for each namespace only where its own rules make a difference.
 */
import { sameData } from "../../collections/index.ts";
import { longestWildcard, type Scope } from "../../mesh/index.ts";
import { type ClientFacet, hostKey, isWildcard } from "../../model/index.ts";
import { clientFacet, type TypeFacet, typeFacet } from "../facets.ts";
import type { Steps } from "../layer.ts";
import { isMade, memberRecipe, recipe } from "../recipe.ts";
import type { View } from "../view.ts";
import { clientScope } from "./client-scope.ts";
import { type DecidedTarget, decidedTargets, targetsKey } from "./targets.ts";

export interface Decision {
  /** Reference of the service's rule; "" for none. */
  readonly rule: string;
  readonly targets: readonly DecidedTarget[];
}

/** By the service's key. */
export type Decisions = ReadonlyMap<string, Decision>;

export interface ClientDecisions {
  /** These come on top of the public ones; else they are all. */
  readonly onPublic: boolean;
  readonly services: Decisions;
}

/** What everybody has of one service; the key is the service's. */
export const publicDecision = recipe(typeFacet, "public decision", (view, service): Decision | undefined =>
  decide(view, view.mesh.publicScope(view.proxy.type), service, undefined),
);

export const publicServices = (view: View<TypeFacet>): readonly string[] =>
  view.mesh.publicScope(view.proxy.type).services;

const publicDecisions = memberRecipe<TypeFacet, Decision, Decisions>(typeFacet, "public decisions", {
  list: publicServices,
  each: publicDecision,
  whole: (decisions) => decisions,
});

export const clientDecisions = recipe(clientFacet, "client decisions", (view): ClientDecisions => {
  const scope = clientScope(view);
  const own = scope.isPublic ? differences(view, scope) : undefined;
  if (own) return { onPublic: true, services: own };
  return { onPublic: false, services: decideAll(view, scope, view.proxy.labels) };
});

/** Makes what it follows from service by service, which nothing need make again when it is asked for. */
export function* decisionSteps(view: View<ClientFacet>): Steps {
  if (isMade(clientDecisions.ref(view))) return;
  const scope = clientScope(view);
  for (const key of scope.isPublic ? servicesOf(scope, scope.ownRuleHosts) : scope.services) {
    if (scope.isPublic) publicDecision(view, key);
    decide(view, clientScope(view), key, view.proxy.labels);
    yield;
  }
}

function decideAll(view: View<TypeFacet>, scope: Scope, labels: ClientFacet["labels"] | undefined): Decisions {
  const decisions = new Map<string, Decision>();
  for (const key of scope.services) {
    const decision = decide(view, scope, key, labels);
    if (decision) decisions.set(key, decision);
  }
  return decisions;
}

function decide(
  view: View<TypeFacet>,
  { table }: Scope,
  service: string,
  labels: ClientFacet["labels"] | undefined,
): Decision | undefined {
  // Of several services with one host, the scope's choice has the clusters.
  if (table.keyFor(hostOf(service)) !== service) return undefined;
  const rule = table.ruleRef(service, labels);
  const key = targetsKey({ mode: "outbound", service, ports: table.portsLeft(service), rule });
  return { rule: rule ?? "", targets: decidedTargets(view, key) };
}

/** Undefined where the namespace lacks a cluster that others have: then it has a set of its own. */
function differences(view: View<ClientFacet>, scope: Scope): Decisions | undefined {
  const found = new Map<string, Decision>();
  const concerned = servicesOf(scope, scope.ownRuleHosts);
  if (concerned.length === 0) return found;
  for (const key of concerned) {
    const before = publicDecision(view, key);
    const now = decide(view, scope, key, view.proxy.labels);
    if (sameData(before, now)) continue;
    if (!before || !now) return undefined;
    const names = new Set(now.targets.map(({ name }) => name));
    if (!before.targets.every(({ name }) => names.has(name))) return undefined;
    found.set(key, now);
  }
  return found;
}

function servicesOf(scope: Scope, hosts: readonly string[]): readonly string[] {
  const exact = hosts.filter((host) => !isWildcard(host)).flatMap((host) => scope.table.keyFor(host) ?? []);
  const wildcards = hosts.filter(isWildcard);
  const covered =
    wildcards.length === 0 ? [] : scope.services.filter((key) => longestWildcard(hostOf(key), wildcards) !== undefined);
  return [...new Set([...exact, ...covered])];
}

function hostOf(service: string): string {
  const key = hostKey(service);
  return key.slice(key.indexOf("/") + 1);
}

/** Reference of a service's rule as the client, or everybody, sees it; "" for none. */
export function ruleLookup(view: View<ClientFacet>): (service: string) => string {
  const { onPublic, services } = clientDecisions(view);
  const open = (service: string): Decision | undefined => (onPublic ? publicDecision(view, service) : undefined);
  const { table } = clientScope(view);
  return (service) => (services.get(service) ?? open(service))?.rule ?? table.ruleRef(service, view.proxy.labels) ?? "";
}

export function publicRuleLookup(view: View<TypeFacet>): (service: string) => string {
  const { table } = view.mesh.publicScope(view.proxy.type);
  return (service) => publicDecision(view, service)?.rule ?? table.ruleRef(service, undefined) ?? "";
}

/** The public decisions with the client's own on top. */
export function allDecisions(view: View<ClientFacet>): Decisions {
  const { onPublic, services } = clientDecisions(view);
  if (!onPublic) return services;
  return services.size === 0 ? publicDecisions(view) : new Map([...publicDecisions(view), ...services]);
}
