/** Whose routes a virtual host has, with all that decided them, in; the encoded routes, shared by all who decided alike, out. */
import { type BuildFacet, type Config, objectName, type VirtualServiceSpec } from "../../model/index.ts";
import { buildFacet } from "../facets.ts";
import type { Steps } from "../layer.ts";
import { outboundCluster } from "../outbound/cluster-name.ts";
import { sameBytes } from "../part.ts";
import { isProxyless } from "../proxy/profile.ts";
import { keyOf, recipe, wordsOf } from "../recipe.ts";
import type { View } from "../view.ts";
import { outboundDefaultAction, outboundDefaultRoute } from "./default-route.ts";
import type { ServiceLookup } from "./destination.ts";
import { hostPort } from "./domains.ts";
import { type ConsistentHash, hashes, hashField, hashOfDestination, hashOfService } from "./hash-policy.ts";
import type { RoutePlace } from "./place.ts";
import { appendsForwardedHost } from "./proxy-headers.ts";
import { joinBlocks, noRoutes, type RouteList, routeList, sameRoutes } from "./route-list.ts";
import { appliesSomewhere, type MatchBlock, matchBlocks } from "./select.ts";
import { routeSemantics } from "./semantics.ts";

/** The one route to a service's port. */
export interface ServiceOwner {
  readonly host: string;
  readonly port: number;
  /** Reference of its rule where that hashes, else "". */
  readonly rule: string;
}

/** The routes of a VirtualService. */
export interface VirtualServiceOwner {
  readonly key: string;
  /** 0 for listeners that serve all ports. */
  readonly port: number;
  /** Fields of matches that are for other clients. */
  readonly excluded: readonly string[];
  /** Of destinations: hosts that stand for another, or whose port is not the listener's, with the name and the only port. */
  readonly services: readonly (readonly [host: string, externalName: string, port: number])[];
  /** Of destinations: hosts whose rules hash, with the rules' references. */
  readonly rules: readonly (readonly [host: string, rule: string])[];
}

const serviceWord = "service";

export const serviceOwner = ({ host, port, rule }: ServiceOwner): string =>
  keyOf(serviceWord, host, String(port), rule);

export const virtualServiceOwner = ({ key, port, excluded, services, rules }: VirtualServiceOwner): string =>
  keyOf("virtual-service", key, String(port), JSON.stringify({ excluded, services, rules }));

export const ownerRoutes = recipe(
  buildFacet,
  "routes",
  (view, owner): RouteList => {
    const [kind, key = "", port = "", more = ""] = wordsOf(owner);
    if (kind === serviceWord) {
      const cluster = outboundCluster(key, Number(port));
      const rule = more === "" ? undefined : view.mesh.rule(more);
      const hash = rule && hashOfService(rule.spec, Number(port));
      if (rule && hash) noteHash(view.mesh.graph, rule.meta);
      const operation = `${hostPort(key, Number(port))}/*`;
      const routes = outboundDefaultRoute({ cluster, operation, action: defaultAction(view), hash });
      return { routes, last: new Uint8Array(), needs: [cluster] };
    }
    const config = view.mesh.virtualService(key);
    if (!config) return noRoutes;
    const blocks = matchBlocks(config.spec);
    if (blocks.length <= 1) return routeList(view, config, placeOf(view, config, owner));
    return joinBlocks(blocks.values().map((block) => routeBlock(view, blockKey(owner, block))));
  },
  sameRoutes,
);

/** Makes the routes of a VirtualService with very many matches block by block; of others nothing. */
export function* ownerSteps(view: View<BuildFacet>, owner: string): Steps {
  const [kind, key = ""] = wordsOf(owner);
  const config = kind === serviceWord ? undefined : view.mesh.virtualService(key);
  const blocks = config ? matchBlocks(config.spec) : [];
  if (blocks.length <= 1) return;
  for (const block of blocks) {
    if (routeBlock(view, blockKey(owner, block)).last.length > 0) return;
    yield;
  }
}

const blockKey = (owner: string, { from, to }: MatchBlock): string => keyOf(owner, String(from), String(to));

const routeBlock = recipe(
  buildFacet,
  "route block",
  (view, key): RouteList => {
    const [owner = "", from = "", to = ""] = wordsOf(key);
    const config = view.mesh.virtualService(wordsOf(owner)[1] ?? "");
    if (!config) return noRoutes;
    return routeList(view, config, placeOf(view, config, owner), { from: Number(from), to: Number(to) });
  },
  sameRoutes,
);

function placeOf(view: View<BuildFacet>, config: Config<VirtualServiceSpec>, owner: string): RoutePlace {
  const [, , port = "", more = ""] = wordsOf(owner);
  const { excluded, services, rules } = JSON.parse(more) as VirtualServiceOwner;
  return {
    port: Number(port),
    gateway: "mesh",
    excluded,
    tls: false,
    semantics: routeSemantics(config.meta),
    appendXForwardedHost: appendsForwardedHost(view.proxy),
    proxyless: isProxyless(view.proxy),
    defaultRetry: view.mesh.settings().defaultHttpRetryPolicy,
    serviceOf: lookup(services),
    hashOf(destination): ConsistentHash | undefined {
      const ref = rules.find(([host]) => host === destination.host)?.[1];
      const rule = ref === undefined ? undefined : view.mesh.rule(ref);
      const hash = rule && hashOfDestination(rule.spec, destination);
      if (rule && hash) noteHash(view.mesh.graph, rule.meta);
      return hash;
    },
  };
}

const lookup =
  (services: VirtualServiceOwner["services"]): ServiceLookup =>
  (host) => {
    const [, externalName, port] = services.find(([name]) => name === host) ?? [];
    return externalName === undefined ? undefined : { externalName, ports: port ? [{ port }] : [] };
  };

function noteHash(
  graph: { note(object: string, field: string): void },
  meta: Config<VirtualServiceSpec>["meta"],
): void {
  graph.note(objectName("DestinationRule", meta), hashField);
}

const defaultAction = recipe(
  buildFacet,
  "default route action",
  ({ mesh }) => outboundDefaultAction(mesh.settings().defaultHttpRetryPolicy),
  sameBytes,
);

/** Whether a rule hashes anywhere: most do not, and then it makes no difference to routes which rule applies. */
export const hashingRule = recipe(buildFacet, "hashing rule", ({ mesh }, ref): boolean => {
  const rule = mesh.rule(ref);
  return rule !== undefined && hashes(rule.spec);
});

/** False where no route is for the client: its hosts are then served as if there were no VirtualService. */
export const routesApply = recipe(buildFacet, "routes apply", ({ mesh }, key): boolean => {
  const [virtualService = "", port = "", ...excluded] = wordsOf(key);
  return appliesSomewhere(mesh.virtualService(virtualService), { port: Number(port), gateway: "mesh", excluded });
});
