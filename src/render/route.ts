/** The route configurations that a proxy's listeners refer to, by name: sidecars' outbound ports, gateways' servers. */
import type { IsPart } from "../collections/index.ts";
import { type BuildFacet, type ClientFacet, types } from "../model/index.ts";
import { clientFacet, egressFacet } from "./facets.ts";
import type { ResourceKind } from "./kind.ts";
import { layerRecipe } from "./layer.ts";
import { clientListenerRoutes, publicListenerRoutes } from "./listener/outbound-refs.ts";
import { keyOf, memoWords, type ResourceRef } from "./recipe.ts";
import { httpProxyRoute, parseRouteName } from "./route/egress.ts";
import { gatewayRoute, gatewayRoutes } from "./route/gateway.ts";
import { clientRoute, isPublicRoute, publicHostSteps, publicRoute } from "./route/outbound.ts";
import type { View } from "./view.ts";

/** The mesh-wide HTTP proxy port has a listener and routes of its own. */
const withHttpProxy = (view: View<BuildFacet>, names: readonly string[]): readonly string[] =>
  view.mesh.settings().proxyHttpPort ? [...names, httpProxyRoute] : names;

const publicRoutes = layerRecipe(
  egressFacet,
  "public routes",
  (view) =>
    new Map(withHttpProxy(view, publicListenerRoutes(view)).map((name) => [name, publicRoute.ref(view, keyOf(name))])),
);

/** Only what is not everybody's, where everybody's listeners are the client's too. */
const clientRoutes = layerRecipe(clientFacet, "client routes", (view) => {
  const asked = clientListenerRoutes(view);
  const names = withHttpProxy(view, asked === "public" ? publicListenerRoutes(view) : asked);
  const mine = asked === "public" ? names.filter((name) => !isPublicRoute(view, name)) : names;
  return new Map(mine.map((name) => [name, routeRef(view, name)]));
});

function routeRef(view: View<ClientFacet>, name: string): ResourceRef {
  return (isPublicRoute(view, name) ? publicRoute : clientRoute).ref(view, keyOf(name));
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
    const isPublic = clientListenerRoutes(view) === "public";
    for (const name of isPublic ? publicListenerRoutes(view) : []) yield* publicHostSteps(view, name);
    yield* isPublic ? publicRoutes.steps(view) : clientRoutes.steps(view);
  },
  /** Listeners of a moment ago may still ask. */
  render(view, name) {
    if (view.proxy.type === "router") return gatewayRoute(view, keyOf(name));
    if (!parseRouteName(name)) return undefined;
    const { memo, key } = routeRef(view, name);
    return memo.get(key);
  },
};

const hostMemos: ReadonlySet<string> = new Set(["virtual host", "gateway virtual host"]);

/** Whether what a memo keeps is the virtual host of this name: a gateway's has its route's name before. */
export const isHost =
  (host: string): IsPart =>
  (memo, key) =>
    hostMemos.has(memo) && memoWords(key).slice(0, 2).includes(host);
