/** What a scope is made of, as keys, in; the accessors through which rendering reads it out. */
import type { Config, Service, ServicePort, SidecarSpec } from "../model/index.ts";
import type { DestinationRules } from "./destination-rule.ts";
import { parseEgressHosts } from "./egress-hosts.ts";
import type { EgressScope, Scope } from "./mesh.ts";
import {
  createRouteHosts,
  type EgressData,
  mostSpecificVirtualService,
  type RouteHosts,
  type ScopeContext,
  type ScopeData,
  type ScopedServices,
  withPortsLeft,
} from "./scope.ts";

interface ViewContext extends ScopeContext {
  readonly rules: DestinationRules;
}

/** Stateless: every access reads the memo anew, so that it is recorded for whoever is computing. */
export function createScopeView(
  context: ViewContext,
  key: string,
  namespace: string,
  data: () => ScopeData,
  sidecar: () => Config<SidecarSpec> | undefined,
): Scope {
  const { inputs, index, rules, graph } = context;
  // Cut to one host or service each, so that a scope that gains another leaves their readers alone.
  const keyOfHost = graph.memo<string | undefined>("service of host", (host) => data().byHost.get(host));
  const portsOf = graph.memo<readonly number[] | undefined>("ports in scope", (id) => {
    const [number = "", serviceKey = ""] = id.split("|");
    const services: ScopedServices | undefined =
      number === "" ? data().services : data().egress[Number(number)]?.services;
    return services?.ports.get(serviceKey);
  });
  const addedTo = graph.memo<ReadonlyMap<number, string> | undefined>("ports of others", (id) =>
    data().services.added.get(id),
  );
  const portOf = ([number, id]: readonly [number, string]): readonly ServicePort[] =>
    inputs.services.get(id)?.ports.filter(({ port }) => port === number) ?? [];
  const trimmed = (where: string, id: string): Service | undefined => {
    const found = inputs.services.get(id);
    const left = found && withPortsLeft(found, portsOf.get(`${where}|${id}`));
    const added = where === "" ? addedTo.get(id) : undefined;
    return left && added ? { ...left, ports: [...left.ports, ...[...added].flatMap(portOf)] } : left;
  };
  const aliasHosts = (id: string): readonly string[] => {
    const head = index.head(id);
    if (!head || head.alias !== undefined) return [];
    return index.aliasesOf(head.host).flatMap((alias) => index.head(alias)?.host ?? []);
  };
  const listenerCount = graph.memo<number>("egress listeners", () => data().egress.length);
  const entry = (i: number): EgressData => data().egress[i] ?? emptyEgress;
  const servicesOf = graph.memo<readonly string[]>("services of listener", (i) => entry(Number(i)).services.keys);
  const routesOf = graph.memo<readonly string[]>(
    "VirtualServices of listener",
    (i) => entry(Number(i)).virtualServices,
  );
  const listenerOf = graph.memo<EgressData["listener"]>("listener", (i) => entry(Number(i)).listener);
  const routeHosts = graph.memo<RouteHosts>("hosts of VirtualServices", (i) =>
    createRouteHosts(context, routesOf.get(i)),
  );
  const routeOf = graph.memo<string | undefined>("VirtualService of host", (id) => {
    const [i = "", host = ""] = id.split("|");
    return mostSpecificVirtualService(routeHosts.get(i), host);
  });
  const egressViews = new Map<number, EgressScope>();
  const egressView = (n: number): EgressScope => {
    const i = String(n);
    const made: EgressScope = egressViews.get(n) ?? {
      get listener() {
        return listenerOf.get(i);
      },
      get services() {
        return servicesOf.get(i);
      },
      service: (id) => trimmed(i, id),
      get virtualServiceKeys() {
        return routesOf.get(i);
      },
      get virtualServices() {
        return routesOf.get(i).flatMap((id) => context.virtualServices.get(id) ?? []);
      },
      virtualServiceFor: (host) => routeOf.get(`${i}|${host}`),
      aliases(id) {
        const head = index.head(id);
        const hosts = parseEgressHosts(listenerOf.get(i)?.hosts ?? ["*/*"], namespace);
        return head ? aliasHosts(id).filter((alias) => hosts.importsAlias(head.namespace, head.host, alias)) : [];
      },
    };
    egressViews.set(n, made);
    return made;
  };
  const allServices = graph.memo<readonly string[]>("services of scope", () => data().services.keys);
  const service = (id: string): Service | undefined => trimmed("", id);
  return {
    key,
    namespace,
    get sidecar() {
      return sidecar();
    },
    get egress() {
      return Array.from({ length: listenerCount.get("") }, (_, i) => egressView(i));
    },
    get services() {
      return allServices.get("");
    },
    service,
    keyFor: keyOfHost.get,
    serviceFor(host) {
      const id = keyOfHost.get(host);
      return id === undefined ? undefined : service(id);
    },
    destinationRule(id, labels) {
      // Rules are found by host: of several services with it, the scope's choice has them.
      const host = index.head(id)?.host;
      const head = host === undefined ? undefined : index.head(keyOfHost.get(host) ?? id);
      return head && rules.find(namespace, head, labels);
    },
    aliases: aliasHosts,
  };
}

const emptyEgress: EgressData = {
  listener: undefined,
  services: { keys: [], ports: new Map(), added: new Map() },
  virtualServices: [],
};
