/** Scopes by name in; the accessors through which rendering reads them out. */
import type { Config, Service, ServicePort, SidecarSpec } from "../model/index.ts";
import type { DestinationRules } from "./destination-rule.ts";
import { parseEgressHosts } from "./egress-hosts.ts";
import type { EgressScope, Scope, ScopeTable } from "./mesh.ts";
import {
  createRouteHosts,
  mostSpecificVirtualService,
  type RouteHosts,
  type ScopeContext,
  withPortsLeft,
} from "./scope.ts";
import type { ScopeReads } from "./scope-reads.ts";

interface ViewContext extends ScopeContext {
  readonly rules: DestinationRules;
  /** Contents of a scope by its id: host by host, or for who goes through all of it. */
  reads(id: string): ScopeReads;
  wholeReads(id: string): ScopeReads;
  isPublic(id: string): boolean;
}

/** Which scope, and whose. */
export interface ScopeName {
  readonly id: string;
  readonly namespace: string;
  sidecar(): Config<SidecarSpec> | undefined;
}

/**
 * Scopes are stateless: every access reads the memos anew, so that it is recorded for whoever is computing. A scope is
 * read by host, service or listener: one that gains another leaves the readers of those alone.
 */
export function createScopeViews(context: ViewContext): (name: ScopeName) => Scope {
  const { inputs, index, rules, graph, reads, wholeReads } = context;
  const routeHosts = graph.memo<RouteHosts>("hosts of VirtualServices", (key) => {
    const at = key.indexOf("\n");
    return createRouteHosts(context, reads(key.slice(0, at)).virtualServices(Number(key.slice(at + 1))));
  });

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

  const serviceIn =
    (id: string, of: (id: string) => ScopeReads) =>
    (key: string): Service | undefined => {
      const found = inputs.services.get(key);
      const { ports, added } = of(id);
      return found && withAdded(withPortsLeft(found, ports(key)), added(key));
    };

  const egressView = ({ id, namespace }: ScopeName, i: number): EgressScope => {
    const serviceOf =
      (of: (id: string) => ScopeReads) =>
      (key: string): Service | undefined => {
        const found = inputs.services.get(key);
        return found && withPortsLeft(found, of(id).listenerPorts(i, key));
      };
    return {
      get listener() {
        return reads(id).listener(i);
      },
      get services() {
        return reads(id).listenerServices(i);
      },
      service: serviceOf(reads),
      get virtualServiceKeys() {
        return reads(id).virtualServices(i);
      },
      get virtualServices() {
        return reads(id)
          .virtualServices(i)
          .flatMap((key) => context.virtualServices.get(key) ?? []);
      },
      virtualServiceFor: (host) => mostSpecificVirtualService(routeHosts.get(`${id}\n${i}`), host),
      aliases(key) {
        const head = index.head(key);
        const all = head ? aliasHosts(key) : [];
        if (!head || all.length === 0) return [];
        const hosts = parseEgressHosts(reads(id).listener(i)?.hosts ?? ["*/*"], namespace);
        return all.filter((alias) => hosts.importsAlias(head.namespace, head.host, alias));
      },
      table: { service: serviceOf(wholeReads) },
    };
  };
  const tableOf = ({ id, namespace }: ScopeName): ScopeTable => {
    const keyFor = (host: string): string | undefined => wholeReads(id).keyFor(host);
    return {
      service: serviceIn(id, wholeReads),
      keyFor,
      portsLeft(key) {
        const { ports, added } = wholeReads(id);
        const more = added(key);
        const left = ports(key) ?? (more && inputs.services.get(key)?.ports.map(({ port }) => port));
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
    const keyFor = (host: string): string | undefined => reads(id).keyFor(host);
    const service = serviceIn(id, reads);
    const ruleRef: Scope["ruleRef"] = (key, labels) => {
      const head = ruleHead(key, keyFor);
      return head && rules.find(namespace, head, labels);
    };
    const egress: EgressScope[] = [];
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
        const count = reads(id).listeners();
        for (let i = egress.length; i < count; i++) egress.push(egressView(name, i));
        return egress.slice(0, count);
      },
      get services() {
        return reads(id).services();
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
