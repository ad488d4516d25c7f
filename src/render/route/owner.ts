/** Whose routes a virtual host has, with all that decided them, in; the encoded routes, shared by all who decided alike, out. */
import { type Config, objectName, type VirtualServiceSpec } from "../../model/index.ts";
import { buildFacet } from "../facets.ts";
import { outboundCluster } from "../outbound/cluster-name.ts";
import { sameBytes } from "../part.ts";
import { isProxyless } from "../proxy/profile.ts";
import { keyOf, recipe, wordsOf } from "../recipe.ts";
import { outboundDefaultAction, outboundDefaultRoute } from "./default-route.ts";
import type { ServiceLookup } from "./destination.ts";
import { hostPort } from "./domains.ts";
import { type ConsistentHash, hashes, hashField, hashOfDestination, hashOfService } from "./hash-policy.ts";
import { appendsForwardedHost } from "./proxy-headers.ts";
import { noRoutes, type RouteList, routeList, sameRoutes } from "./route-list.ts";
import { appliesSomewhere } from "./select.ts";
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
    const { excluded, services, rules } = JSON.parse(more) as VirtualServiceOwner;
    return routeList(view, config, {
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
    });
  },
  sameRoutes,
);

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
