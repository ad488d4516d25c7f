/** A service and a proxy that looks at it in; its ports, rules, routes and gateways, each with its object, out. */
import type { Offline } from "../../control-plane/index.ts";
import { type RouteWords, routeWords } from "../../explain/index.ts";
import { matchesLabels, type Proxy, type Service, types } from "../../model/index.ts";
import type { Renderer } from "../../render/index.ts";
import { type Origin, originsOf, originsText } from "../why/causes-text.ts";

export interface RouteView extends Pick<RouteWords, "requests" | "to"> {
  /** Objects and fields that made the virtual host. */
  readonly from: string;
}

export interface ServiceView {
  readonly name: string;
  readonly host: string;
  readonly ports: readonly {
    readonly name: string;
    readonly port: number;
    readonly protocol: string;
    readonly targetPort?: number;
    readonly routes: readonly RouteView[];
  }[];
  readonly rules: readonly {
    /** `DestinationRule/shop/web`. */
    readonly object: string;
    readonly matching: readonly string[];
    readonly others: readonly string[];
    readonly settings: readonly string[];
  }[];
  readonly gateways: readonly { readonly gateway: string; readonly host: string; readonly requests: string }[];
  readonly endpoints: number;
}

export interface DescribeMesh {
  readonly offline: Offline;
  rendererOf(proxy: Proxy): Renderer;
}

/** `labels` of the Pod that is described, or none for any; `targets`: its ports, by names of the service's. */
export function viewService(
  { offline, rendererOf }: DescribeMesh,
  service: Service,
  client: Proxy | undefined,
  labels: Readonly<Record<string, string>> | undefined,
  targets: ReadonlyMap<string, number> = new Map(),
): ServiceView {
  const { mesh } = offline;
  const scope = mesh.gatewayScope(service.namespace);
  const rule = scope.destinationRule(service.key, client?.labels);
  const subsets = rule?.spec.subsets ?? [];
  const isMatching = (subset: (typeof subsets)[number]): boolean =>
    labels !== undefined && matchesLabels(subset.labels ?? {}, labels);
  const renderer = client && client.type === "sidecar" ? rendererOf(client) : undefined;
  return {
    name: `${service.name}.${service.namespace}`,
    host: service.host,
    ports: service.ports.map(({ name, port, protocol }) => {
      const targetPort = targets.get(name);
      return {
        name,
        port,
        protocol,
        ...(targetPort === undefined ? {} : { targetPort }),
        routes: renderer && protocol !== "UDP" ? routesOf(renderer, service, port) : [],
      };
    }),
    rules: (rule?.from ?? []).map((key) => ({
      object: `DestinationRule/${key}`,
      matching: subsets.filter(isMatching).map(({ name = "" }) => name),
      others: subsets.filter((subset) => !isMatching(subset)).map(({ name = "" }) => name),
      settings: Object.keys(rule?.spec.trafficPolicy ?? {}),
    })),
    gateways: gatewaysOf({ offline, rendererOf }, service),
    endpoints: new Set(
      service.ports.flatMap((port) => mesh.endpoints(service.key, port).map(({ addresses }) => addresses[0] ?? "")),
    ).size,
  };
}

function routesOf(renderer: Renderer, { host }: Service, port: number): readonly RouteView[] {
  const name = `${host}:${port}`;
  const all = renderer.all(types.route);
  const resource = all.get(String(port)) ?? all.get(name);
  if (!resource) return [];
  const origins = originsOf(renderer.provenance(types.route, resource.name, name), types.route);
  const routes = routeWords(resource, host, (one) => one === name);
  return routes.map(({ requests, to }, i) => ({ requests, to, from: originsText(ofRoute(origins, i, routes.length)) }));
}

/** The noted fields of the one object that has some stand in the routes' order; else all of them are told. */
function ofRoute(origins: readonly Origin[], index: number, count: number): readonly Origin[] {
  const [first, ...more] = origins.filter(({ fields }) => fields.length > 0);
  const field =
    first && more.length === 0 && first.fields.length === count ? first.fields.toSorted(byNumbers)[index] : undefined;
  return first && field !== undefined ? [{ object: first.object, fields: [field] }] : origins;
}

const byNumbers = (a: string, b: string): number => a.localeCompare(b, "en", { numeric: true });

/** Gateways some route of which leads to the service; proxies of one Deployment once. */
function gatewaysOf({ offline, rendererOf }: DescribeMesh, { host }: Service): ServiceView["gateways"] {
  const routers = offline.proxies().filter(({ type }) => type === "router");
  const once = new Map(routers.map((proxy) => [JSON.stringify(offline.classOf(proxy)), proxy]));
  return [...once.values()].flatMap((proxy) =>
    [...rendererOf(proxy).all(types.route).values()].flatMap((resource) =>
      routeWords(resource, host)
        .filter(({ clusters }) => clusters.some((cluster) => cluster.endsWith(`|${host}`)))
        .map(({ domains, requests }) => ({
          gateway: `${proxy.name}.${proxy.namespace}`,
          host: domains.join(", "),
          requests,
        })),
    ),
  );
}
