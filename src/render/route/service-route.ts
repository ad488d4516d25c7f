/**
 * The name of routes that one service's own listener asks for in; the route configuration out. It is made from the
 * service's own host alone: its key has all that was decided, so that other hosts of the plan do not concern it.
 */
import { type BuildFacet, type ClientFacet, types } from "../../model/index.ts";
import { buildFacet, clientFacet } from "../facets.ts";
import { keyOf, recipe, resourceRecipe, wordsOf } from "../recipe.ts";
import { assembleRoutes, hostList } from "./assembly.ts";
import { clientPlan, publicPlan } from "./client-plan.ts";
import type { RouteName } from "./egress.ts";
import { type HostIndex, hostOfRoute, indexHosts } from "./host-index.ts";
import { noteRefused, type PlannedHost, withKey } from "./host-plan.ts";
import { virtualHost } from "./outbound.ts";

export const publicIndex = recipe<BuildFacet, HostIndex>(
  buildFacet,
  "public hosts by name",
  (view, word) => indexHosts(publicPlan(view, word)),
  Object.is,
);

export const clientIndex = recipe<ClientFacet, HostIndex>(
  clientFacet,
  "hosts by name",
  (view, word) => {
    const plan = clientPlan(view, word);
    if (!plan.onPublic) return indexHosts(plan.plan);
    const open = publicIndex(view, word);
    return plan.instead.size === 0 ? open : indexHosts({ hosts: [...plan.instead.values()], refused: new Map() }, open);
  },
  Object.is,
);

/** Nobody else arrives at the listener, so whatever arrives is for the service, and for this port of it. */
export const serviceRoute = resourceRecipe(buildFacet, types.route, (view, key) => {
  const [name = "", host = "", service = "", ...refused] = wordsOf(key);
  // It is in the key; read, it is also named among what made the routes.
  if (service !== "") view.mesh.service(service);
  for (const object of refused) noteRefused(view, object);
  return assembleRoutes(name, hostList(host === "" ? [] : [virtualHost(view, host)]));
});

export function serviceRouteKey(index: HostIndex, parsed: RouteName): string {
  const host = hostOfRoute(index, parsed);
  return keyOf(parsed.name, host ? openKey(host) : "", host?.service?.key ?? "", ...index.refused(parsed.name));
}

/** Keys of other routes have one word. */
export const isServiceRouteKey = (key: string): boolean => wordsOf(key).length > 1;

/** Hosts stay the same from plan to plan, and all that have not changed are asked for with each. */
const openKeys = new WeakMap<PlannedHost, string>();

function openKey(host: PlannedHost): string {
  const known = openKeys.get(host);
  if (known !== undefined) return known;
  const { key } = withKey({ ...host, domains: ["*"] });
  openKeys.set(host, key);
  return key;
}
