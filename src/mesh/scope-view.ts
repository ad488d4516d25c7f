/** Scopes by name in; the accessors through which rendering reads them out. */
import type { Config, Service, ServicePort, SidecarSpec } from "../model/index.ts";
import type { DestinationRules } from "./destination-rule.ts";
import { parseEgressHosts } from "./egress-hosts.ts";
import type { EgressScope, Scope, ScopeTable } from "./mesh.ts";
import {
  createRouteHosts,
  type EgressData,
  mostSpecificVirtualService,
  type RouteHosts,
  type ScopeContext,
  type ScopeData,
  withPortsLeft,
} from "./scope.ts";

interface ViewContext extends ScopeContext {
  readonly rules: DestinationRules;
  /** By id. */
  data(id: string): ScopeData;
  isPublic(id: string): boolean;
}

/** Which scope, and whose. */
export interface ScopeName {
  readonly id: string;
  readonly namespace: string;
  sidecar(): Config<SidecarSpec> | undefined;
}

/**
 * Scopes are stateless: every access reads the memos anew, so that it is recorded for whoever is computing. The memos
 * cut a scope to one host, service or listener each: one that gains another leaves their readers alone.
 */
export function createScopeViews(context: ViewContext): (name: ScopeName) => Scope {
  const { inputs, index, rules, graph, data } = context;
  const cut = <V>(name: string, read: (id: string, rest: string) => V) =>
    graph.memo<V>(name, (key) => {
      const at = key.indexOf("\n");
      return read(key.slice(0, at), key.slice(at + 1));
    });
  const keyOfHost = cut("service of host", (id, host) => data(id).byHost.get(host));
  const portsOf = cut("ports in scope", (id, rest) => {
    const [number = "", key = ""] = rest.split("|");
    const services = number === "" ? data(id).services : data(id).egress[Number(number)]?.services;
    return services?.ports.get(key);
  });
  const addedTo = cut("ports of others", (id, key) => data(id).services.added.get(key));
  const listenerCount = cut("egress listeners", (id) => data(id).egress.length);
  const entry = (id: string, i: string): EgressData => data(id).egress[Number(i)] ?? emptyEgress;
  const servicesOf = cut("services of listener", (id, i) => entry(id, i).services.keys);
  const routesOf = cut("VirtualServices of listener", (id, i) => entry(id, i).virtualServices);
  const listenerOf = cut("listener", (id, i) => entry(id, i).listener);
  const routeHosts = cut<RouteHosts>("hosts of VirtualServices", (id, i) =>
    createRouteHosts(context, routesOf.get(`${id}\n${i}`)),
  );
  const allServices = cut("services of scope", (id) => data(id).services.keys);

  const portOf = ([number, key]: readonly [number, string]): readonly ServicePort[] =>
    inputs.services.get(key)?.ports.filter(({ port }) => port === number) ?? [];
  const withAdded = (service: Service, added: ReadonlyMap<number, string> | undefined): Service =>
    added ? { ...service, ports: [...service.ports, ...[...added].flatMap(portOf)] } : service;
  const aliasHosts = (key: string): readonly string[] => {
    const head = index.head(key);
    if (!head || head.alias !== undefined) return [];
    return index.aliasesOf(head.host).flatMap((alias) => index.head(alias)?.host ?? []);
  };
  /** Rules are found by host: of several services with it, the scope's choice has them. */
  const ruleHead = (key: string, keyFor: (host: string) => string | undefined) => {
    const host = index.head(key)?.host;
    return host === undefined ? undefined : index.head(keyFor(host) ?? key);
  };

  const egressView = ({ id, namespace }: ScopeName, i: string): EgressScope => {
    const at = `${id}\n${i}`;
    return {
      get listener() {
        return listenerOf.get(at);
      },
      get services() {
        return servicesOf.get(at);
      },
      service(key) {
        const found = inputs.services.get(key);
        return found && withPortsLeft(found, portsOf.get(`${at}|${key}`));
      },
      get virtualServiceKeys() {
        return routesOf.get(at);
      },
      get virtualServices() {
        return routesOf.get(at).flatMap((key) => context.virtualServices.get(key) ?? []);
      },
      virtualServiceFor: (host) => mostSpecificVirtualService(routeHosts.get(at), host),
      aliases(key) {
        const head = index.head(key);
        const all = head ? aliasHosts(key) : [];
        if (!head || all.length === 0) return [];
        const hosts = parseEgressHosts(listenerOf.get(at)?.hosts ?? ["*/*"], namespace);
        return all.filter((alias) => hosts.importsAlias(head.namespace, head.host, alias));
      },
      table: {
        service(key) {
          const found = inputs.services.get(key);
          return found && withPortsLeft(found, entry(id, i).services.ports.get(key));
        },
      },
    };
  };
  const tableOf = ({ id, namespace }: ScopeName): ScopeTable => {
    const keyFor = (host: string): string | undefined => data(id).byHost.get(host);
    return {
      service(key) {
        const { ports, added } = data(id).services;
        const found = inputs.services.get(key);
        return found && withAdded(withPortsLeft(found, ports.get(key)), added.get(key));
      },
      keyFor,
      portsLeft(key) {
        const { ports, added } = data(id).services;
        const more = added.get(key);
        const left = ports.get(key) ?? (more && inputs.services.get(key)?.ports.map(({ port }) => port));
        return [...(left ?? []), ...[...(more ?? [])].map(([port, owner]) => `${port}@${owner}`)].join();
      },
      ruleRef(key, labels) {
        const head = ruleHead(key, keyFor);
        return head && rules.find(namespace, head, labels);
      },
    };
  };
  return (name) => {
    const { id, namespace } = name;
    const keyFor = (host: string): string | undefined => keyOfHost.get(`${id}\n${host}`);
    const service = (key: string): Service | undefined => {
      const found = inputs.services.get(key);
      return found && withAdded(withPortsLeft(found, portsOf.get(`${id}\n|${key}`)), addedTo.get(`${id}\n${key}`));
    };
    const ruleRef: Scope["ruleRef"] = (key, labels) => {
      const head = ruleHead(key, keyFor);
      return head && rules.find(namespace, head, labels);
    };
    return {
      key: id,
      namespace,
      get isPublic() {
        return context.isPublic(id);
      },
      get ownRuleHosts() {
        return rules.ownHosts(namespace);
      },
      get sidecar() {
        return name.sidecar();
      },
      get egress() {
        return Array.from({ length: listenerCount.get(`${id}\n`) }, (_, i) => egressView(name, String(i)));
      },
      get services() {
        return allServices.get(`${id}\n`);
      },
      service,
      keyFor,
      serviceFor(host) {
        const key = keyFor(host);
        return key === undefined ? undefined : service(key);
      },
      destinationRule(key, labels) {
        const ref = ruleRef(key, labels);
        return ref === undefined ? undefined : rules.get(ref);
      },
      ruleRef,
      aliases: aliasHosts,
      table: tableOf(name),
    };
  };
}

const emptyEgress: EgressData = {
  listener: undefined,
  services: { keys: [], ports: new Map(), added: new Map() },
  virtualServices: [],
};
