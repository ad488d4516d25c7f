/** The routes that listeners ask for, by name, in; the keys that they are made from out. */
import type { BuildFacet, ClientFacet } from "../../model/index.ts";
import { buildFacet } from "../facets.ts";
import { keyOf, recipe } from "../recipe.ts";
import { clientPlan, publicPlan } from "../route/client-plan.ts";
import { httpProxyRoute, parseRouteName, placeWord } from "../route/egress.ts";
import type { HostIndex } from "../route/host-index.ts";
import type { HostPlan, PlannedHost } from "../route/host-plan.ts";
import { clientIndex, publicIndex, serviceRouteKey } from "../route/service-route.ts";
import type { View } from "../view.ts";
import { clientListenerRoutes, publicListenerRoutes } from "./outbound-refs.ts";

/** What is asked for of the hosts of one place. */
interface PlaceRoutes {
  /** Routes for all of them, which have the place's word for a name. */
  readonly shared: boolean;
  /** Names of routes for one of them. */
  readonly own: readonly string[];
}

export const publicPlaces = recipe(buildFacet, "public places", (view): ReadonlyMap<string, PlaceRoutes> => {
  const places = new Map<string, { shared: boolean; own: string[] }>();
  for (const name of withHttpProxy(view, publicListenerRoutes(view))) {
    const parsed = parseRouteName(name);
    if (!parsed) continue;
    const word = placeWord(parsed);
    const place = places.get(word) ?? { shared: false, own: [] };
    places.set(word, place);
    if (parsed.host === undefined) place.shared = true;
    else place.own.push(name);
  }
  return places;
});

/** By the routes' names. */
type RouteKeys = ReadonlyMap<string, string>;

export const publicRouteKeys = recipe(
  buildFacet,
  "public route keys",
  (view): RouteKeys => keysOf(withHttpProxy(view, publicListenerRoutes(view)), (word) => publicIndex(view, word)),
);

/** Only of what is not everybody's, where everybody's listeners are the client's too. */
export function clientRouteKeys(view: View<ClientFacet>): readonly string[] {
  const asked = clientListenerRoutes(view);
  if (asked !== "public") return [...keysOf(withHttpProxy(view, asked), (word) => clientIndex(view, word)).values()];
  return [...publicPlaces(view)].flatMap(([word, place]) => ownKeys(view, word, place));
}

/** Places of which all hosts are asked for in one route. */
export function clientPlaces(view: View<ClientFacet>): readonly string[] {
  const asked = clientListenerRoutes(view);
  if (asked === "public") return [...publicPlaces(view)].flatMap(([word, { shared }]) => (shared ? [word] : []));
  const parsed = withHttpProxy(view, asked).map(parseRouteName);
  return parsed.flatMap((name) => (name && name.host === undefined ? [placeWord(name)] : []));
}

/** The mesh-wide HTTP proxy port has a listener and routes of its own. */
const withHttpProxy = (view: View<BuildFacet>, names: readonly string[]): readonly string[] =>
  view.mesh.settings().proxyHttpPort ? [...names, httpProxyRoute] : names;

/** Each place's hosts are looked up once, however many names mean one of them. */
function keysOf(names: readonly string[], indexAt: (word: string) => HostIndex): RouteKeys {
  const indexes = new Map<string, HostIndex>();
  const keys = new Map<string, string>();
  for (const name of names) {
    const parsed = parseRouteName(name);
    if (parsed?.host === undefined) {
      keys.set(name, keyOf(name));
      continue;
    }
    const word = placeWord(parsed);
    const index = indexes.get(word) ?? indexAt(word);
    indexes.set(word, index);
    keys.set(name, serviceRouteKey(index, parsed));
  }
  return keys;
}

function ownKeys(view: View<ClientFacet>, word: string, { shared, own }: PlaceRoutes): readonly string[] {
  const plan = clientPlan(view, word);
  if (plan.onPublic && plan.instead.size === 0) return [];
  const ofAll = shared ? [keyOf(word)] : [];
  if (own.length === 0) return ofAll;
  const open = publicRouteKeys(view);
  const names = plan.onPublic ? concerned(publicPlan(view, word), plan.instead, word) : own;
  const mine = keysOf(
    names.filter((name) => open.has(name)),
    (at) => clientIndex(view, at),
  );
  return [...ofAll, ...mine.entries().flatMap(([name, key]) => (open.get(name) === key ? [] : [key]))];
}

/** Names that may mean another host, or other routes, than they do to everybody. Most hosts only have a few domains more. */
function concerned({ hosts }: HostPlan, instead: ReadonlyMap<number, PlannedHost>, word: string): readonly string[] {
  return [...instead].flatMap(([i, { name, owner, domains }]) => {
    const usual = hosts[i];
    const isOther = owner !== usual?.owner;
    const meant = isOther ? domains : domains.filter((domain) => !usual.domains.includes(domain));
    return [...(isOther ? [name] : []), ...meant.flatMap((domain) => [domain, `${domain}:${word}`])];
  });
}
