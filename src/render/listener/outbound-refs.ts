/**
 * A sidecar in; which outbound listeners it has, by all that decides them, out. Most see the same ones: these are planned
 * once, and for each client only where its rules, its routes or its own address make a difference.
 */
import type { Scope } from "../../mesh/index.ts";
import type { BuildFacet, ClientFacet } from "../../model/index.ts";
import { buildFacet, clientFacet, serverFacet } from "../facets.ts";
import { type Steps, step } from "../layer.ts";
import { clientScope } from "../outbound/client-scope.ts";
import { clientDecisions, publicRuleLookup, ruleLookup } from "../outbound/decisions.ts";
import { keyOf, memberRecipe, recipe } from "../recipe.ts";
import type { Client } from "../route/select.ts";
import type { View } from "../view.ts";
import type { OutboundChain, OutboundListener } from "./outbound-chain.ts";
import { type OutboundPlan, planListeners, type ServiceRequests, serviceRequests } from "./outbound-plan.ts";

/** A service that a chain sends to: by the name that the chain has for it, its key, which ports are left of it, and its rule. */
export type FoundService = readonly [name: string, key: string, ports: string, rule: string];

export interface ListenerRef {
  readonly name: string;
  /** For the recipes of listeners: the name, then the listener and the services that it sends to. */
  readonly key: string;
  /** Some chain speaks HTTP, and so says in traces who the proxy is. */
  readonly http: boolean;
}

export type ListenerRefs = ReadonlyMap<string, ListenerRef>;

interface Asker {
  readonly scope: Scope;
  readonly client: Client;
  ruleOf(service: string): string;
}

const everybody: Client = { namespace: "", labels: {} };

type Requests = ReadonlyMap<string, ServiceRequests>;

const publicRequests = memberRecipe<BuildFacet, ServiceRequests, Requests>(buildFacet, "public listener requests", {
  list: (view) => view.mesh.publicScope(view.proxy.type).egress[0]?.services ?? [],
  each(view, service) {
    const [egress] = view.mesh.publicScope(view.proxy.type).egress;
    return egress && serviceRequests({ ...view, client: everybody }, egress, service);
  },
  whole: (requests) => requests,
});

const publicPlan = recipe(buildFacet, "public listener plan", (view): OutboundPlan => {
  const requests = publicRequests(view);
  const scope = view.mesh.publicScope(view.proxy.type);
  return planListeners({ ...view, client: everybody }, scope, (_egress, key) => requests.get(key));
});

/**
 * Makes what everybody's listeners are planned from service by service, and then these, for a client that may have them:
 * before either is asked for as a whole.
 */
export function* publicListenerSteps(view: View<ClientFacet>): Steps {
  if (!clientScope(view).isPublic) return;
  yield* publicRequests.steps(view);
  yield* step(clientPlan.ref(view));
  if (clientPlan(view) !== "public") return;
  yield* publicListeners.steps(view);
  if (clientDecisions(view).services.size > 0) yield* differentListeners.steps(view);
}

/** As text: all that their keys have of the plan itself. */
const publicTexts = recipe(buildFacet, "public listeners as text", (view): readonly string[] =>
  Array.from(publicPlan(view).listeners.values(), (listener) => JSON.stringify(listener)),
);

/** Listener by listener: one that comes or goes leaves the others' services alone. */
export const publicListeners = memberRecipe<BuildFacet, ListenerRef, ListenerRefs>(buildFacet, "public listeners", {
  list: publicTexts,
  each: (view, text) => readRef(everybodyOf(view), text),
  whole: byName,
});

function everybodyOf(view: View<BuildFacet>): Asker {
  return { scope: view.mesh.publicScope(view.proxy.type), client: everybody, ruleOf: publicRuleLookup(view) };
}

const clientPlan = recipe(clientFacet, "listener plan", (view): OutboundPlan | "public" =>
  isLikeEverybody(view) ? "public" : planListeners({ ...view, client: view.proxy }, clientScope(view)),
);

/** Sees the same services, and nothing asks who it is. */
const isLikeEverybody = (view: View<ClientFacet>): boolean => clientScope(view).isPublic && !publicPlan(view).personal;

export interface ClientListeners {
  /** These come on top of the public ones; else they are all. */
  readonly onPublic: boolean;
  readonly listeners: ListenerRefs;
}

export const clientListeners = recipe(clientFacet, "client listeners", (view): ClientListeners => {
  const plan = clientPlan(view);
  if (plan !== "public") return { onPublic: false, listeners: refsOf(askerOf(view), plan) };
  if (clientDecisions(view).services.size === 0) return { onPublic: true, listeners: new Map() };
  return { onPublic: true, listeners: differentListeners(view) };
});

/** Of everybody's listeners, those that the client's own rules make others. */
const differentListeners = memberRecipe<ClientFacet, ListenerRef, ListenerRefs>(clientFacet, "different listeners", {
  list: publicTexts,
  each(view, text) {
    const mine = readRef(askerOf(view), text);
    return mine.key === readRef(everybodyOf(view), text).key ? undefined : mine;
  },
  whole: byName,
});

/** For a member of a headless service, which makes no listener for itself; undefined where nobody would make one. */
export const ownListeners = recipe(serverFacet, "own listeners", (view): ListenerRefs | undefined => {
  const [own] = view.proxy.ownAddresses;
  const plan = clientPlan(view);
  if (own === undefined || !(plan === "public" ? publicPlan(view) : plan).members.has(own)) return undefined;
  const planView = { ...view, client: view.proxy };
  const mine = planListeners(planView, clientScope(view), (egress, key) => serviceRequests(planView, egress, key, own));
  return refsOf(askerOf(view), mine);
});

function askerOf(view: View<ClientFacet>): Asker {
  return { scope: clientScope(view), client: view.proxy, ruleOf: ruleLookup(view) };
}

/** Names of the route configurations that outbound listeners ask for. */
export const publicListenerRoutes = recipe(buildFacet, "public routes asked for", (view) => routesOf(publicPlan(view)));

/** The same for a client; "public" where they are everybody's. */
export const clientListenerRoutes = recipe(clientFacet, "routes asked for", (view): readonly string[] | "public" => {
  const plan = clientPlan(view);
  return plan === "public" ? plan : routesOf(plan);
});

function routesOf({ listeners }: OutboundPlan): readonly string[] {
  const names = new Set<string>();
  for (const { chains } of listeners.values())
    for (const chain of chains) if (chain.kind === "http") names.add(chain.routeName);
  return [...names];
}

const refsOf = (asker: Asker, { listeners }: OutboundPlan): ListenerRefs =>
  new Map([...listeners].map(([name, listener]) => [name, refOf(asker, listener)]));

const readRef = (asker: Asker, text: string): ListenerRef => refOf(asker, JSON.parse(text) as OutboundListener, text);

function refOf(asker: Asker, listener: OutboundListener, text?: string): ListenerRef {
  const http = listener.chains.some(({ kind }) => kind === "http");
  return { name: listener.name, key: listenerKey(listener, foundServices(asker, listener), text), http };
}

function byName(refs: ReadonlyMap<string, ListenerRef>): ListenerRefs {
  return new Map(refs.values().map((ref) => [ref.name, ref]));
}

export function listenerKey(
  listener: OutboundListener,
  found: readonly FoundService[],
  text = JSON.stringify(listener),
): string {
  return keyOf(listener.name, text, JSON.stringify(found));
}

function foundServices(asker: Asker, { chains }: OutboundListener): readonly FoundService[] {
  const found = new Map<string, FoundService>();
  for (const chain of chains) for (const service of chainServices(asker, chain)) found.set(service[0], service);
  return [...found.values()];
}

function chainServices({ scope, ruleOf }: Asker, chain: OutboundChain): readonly FoundService[] {
  if (chain.kind === "http") return [];
  const { target } = chain;
  const named: readonly (readonly [string, string | undefined])[] =
    "service" in target
      ? [[target.service, target.service]]
      : target.routes.map(({ destination }) => {
          const host = destination?.host ?? "";
          return [host, scope.table.keyFor(host)];
        });
  return named.flatMap(([name, key]): FoundService[] =>
    key === undefined ? [] : [[name, key, scope.table.portsLeft(key), ruleOf(key)]],
  );
}
