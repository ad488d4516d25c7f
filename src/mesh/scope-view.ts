/** What a scope is made of, as keys, in; the accessors through which rendering reads it out. */
import type { Config, Service, SidecarSpec } from "../model/index.ts";
import type { DestinationRules } from "./destination-rule.ts";
import { parseEgressHosts } from "./egress-hosts.ts";
import type { EgressScope, Scope } from "./mesh.ts";
import {
  type EgressData,
  mostSpecificVirtualService,
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
  const trimmed = (where: string, id: string): Service | undefined => {
    const found = inputs.services.get(id);
    return found && withPortsLeft(found, portsOf.get(`${where}|${id}`));
  };
  const aliasHosts = (id: string): readonly string[] => {
    const head = index.head(id);
    if (!head || head.alias !== undefined) return [];
    return index.aliasesOf(head.host).flatMap((alias) => index.head(alias)?.host ?? []);
  };
  const mostSpecific = graph.memo<string | undefined>("VirtualService of host", (id) => {
    const [number = "", host = ""] = id.split("|");
    return mostSpecificVirtualService(context, data().egress[Number(number)]?.virtualServices ?? [], host);
  });
  const egressViews: EgressScope[] = [];
  const egressView = (i: number): EgressScope => {
    const entry = (): EgressData => data().egress[i] ?? emptyEgress;
    egressViews[i] ??= {
      get listener() {
        return entry().listener;
      },
      get services() {
        return entry().services.keys;
      },
      service: (id) => trimmed(String(i), id),
      get virtualServiceKeys() {
        return entry().virtualServices;
      },
      get virtualServices() {
        return entry().virtualServices.flatMap((id) => context.virtualServices.get(id) ?? []);
      },
      virtualServiceFor: (host) => mostSpecific.get(`${i}|${host}`),
      aliases(id) {
        const head = index.head(id);
        const hosts = parseEgressHosts(entry().listener?.hosts ?? ["*/*"], namespace);
        return head ? aliasHosts(id).filter((alias) => hosts.importsAlias(head.namespace, head.host, alias)) : [];
      },
    };
    return egressViews[i];
  };
  const service = (id: string): Service | undefined => trimmed("", id);
  return {
    key,
    namespace,
    get sidecar() {
      return sidecar();
    },
    get egress() {
      return data().egress.map((_, i) => egressView(i));
    },
    get services() {
      return data().services.keys;
    },
    service,
    keyFor: keyOfHost.get,
    serviceFor(host) {
      const id = keyOfHost.get(host);
      return id === undefined ? undefined : service(id);
    },
    destinationRule(id, labels) {
      const head = index.head(id);
      return head && rules.find(namespace, head, labels);
    },
    aliases: aliasHosts,
  };
}

const emptyEgress: EgressData = { listener: undefined, services: { keys: [], ports: new Map() }, virtualServices: [] };
