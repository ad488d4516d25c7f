/** The route configurations that a proxy's listeners refer to, by name: sidecars' outbound ports, gateways' servers. */
import type { IsPart } from "../collections/index.ts";
import { type BuildFacet, type ClientFacet, type Resource, types } from "../model/index.ts";
import { clientFacet, egressFacet } from "./facets.ts";
import type { ResourceKind } from "./kind.ts";
import { keyedLayer, type Steps, step } from "./layer.ts";
import { clientListenerRoutes } from "./listener/outbound-refs.ts";
import { clientPlaces, clientRouteKeys, publicPlaces, publicRouteKeys } from "./listener/route-keys.ts";
import { isMade, keyOf, memoWords, wordsOf } from "./recipe.ts";
import { publicClaims, publicPlan } from "./route/client-plan.ts";
import { parseRouteName, placeWord, publicPortSteps } from "./route/egress.ts";
import { gatewayRoute, gatewayRoutes } from "./route/gateway.ts";
import { clientHostSteps, clientRoute, isPublicPlace, publicHostSteps, publicRoute } from "./route/outbound.ts";
import { clientIndex, isServiceRouteKey, serviceRoute, serviceRouteKey } from "./route/service-route.ts";
import type { View } from "./view.ts";

const publicRoutes = keyedLayer(
  egressFacet,
  "public routes",
  (view) => [...publicRouteKeys(view).values()],
  (view, key) => (isServiceRouteKey(key) ? serviceRoute : publicRoute)(view, key),
);

const clientRoutes = keyedLayer(clientFacet, "client routes", clientRouteKeys, routeFor);

function routeFor(view: View<ClientFacet>, key: string): Resource | undefined {
  if (isServiceRouteKey(key)) return serviceRoute(view, key);
  const parsed = parseRouteName(wordsOf(key)[0] ?? "");
  return (!parsed || isPublicPlace(view, placeWord(parsed)) ? publicRoute : clientRoute)(view, key);
}

/** What everybody's routes are made from. */
function* placeSteps(view: View<BuildFacet>): Steps {
  const places = publicPlaces(view);
  yield;
  if (places.size > 0) yield* publicPortSteps(view);
  for (const [word, { shared }] of places) {
    yield* publicClaims.steps(view, word);
    yield* step(publicPlan.ref(view, word));
    if (shared) yield* publicHostSteps(view, word);
  }
}

export const routeKind: ResourceKind = {
  type: types.route,
  refs(view) {
    if (view.proxy.type === "router") return [gatewayRoutes.ref(view)];
    const own = clientRoutes.ref(view);
    return clientListenerRoutes(view) === "public" ? [publicRoutes.ref(view), own] : [own];
  },
  *steps(view) {
    if (view.proxy.type === "router") return yield* gatewayRoutes.steps(view);
    // Else there is nothing left to make of what all share, however much that is.
    if (clientListenerRoutes(view) === "public" && !isMade(publicRoutes.ref(view))) {
      yield* placeSteps(view);
      yield* publicRoutes.steps(view);
    }
    for (const word of clientPlaces(view)) yield* clientHostSteps(view, word);
    yield* clientRoutes.steps(view);
  },
  /** Listeners of a moment ago may still ask. */
  render(view, name) {
    if (view.proxy.type === "router") return gatewayRoute(view, keyOf(name));
    const parsed = parseRouteName(name);
    if (!parsed) return undefined;
    const index = parsed.host === undefined ? undefined : clientIndex(view, placeWord(parsed));
    return routeFor(view, index ? serviceRouteKey(index, parsed) : keyOf(name));
  },
};

const hostMemos: ReadonlySet<string> = new Set(["virtual host", "gateway virtual host"]);

/** Whether what a memo keeps is the virtual host of this name: a gateway's has its route's name before. */
export const isHost =
  (host: string): IsPart =>
  (memo, key) =>
    hostMemos.has(memo) && memoWords(key).slice(0, 2).includes(host);
