/** A Sidecar, or none, and a namespace in; the services and VirtualServices that its proxies see, as keys, out. */
import { type Graph, sameData } from "../collections/index.ts";
import {
  type IstioEgressListener,
  isWildcard,
  type ProxyType,
  parseProtocol,
  type Service,
  type SidecarSpec,
} from "../model/index.ts";
import { type EgressHosts, parseEgressHosts } from "./egress-hosts.ts";
import type { MeshInputs } from "./inputs.ts";
import { mostSpecific } from "./most-specific.ts";
import type { PublicHost } from "./public-services.ts";
import type { ServiceHead, ServiceIndex } from "./service-index.ts";
import type { VirtualServices } from "./virtual-service.ts";

/** Keys of services with the ports that are left of each; all where nothing is said. */
export interface ScopedServices {
  readonly keys: readonly string[];
  readonly ports: ReadonlyMap<string, readonly number[]>;
  /** Ports that other objects add to a service of the same namespace and host: those objects' keys, by port. */
  readonly added: ReadonlyMap<string, ReadonlyMap<number, string>>;
}

export interface EgressData {
  readonly listener: IstioEgressListener | undefined;
  readonly services: ScopedServices;
  readonly virtualServices: readonly string[];
}

export interface ScopeData {
  readonly egress: readonly EgressData[];
  readonly services: ScopedServices;
  readonly byHost: ReadonlyMap<string, string>;
}

export interface ScopeContext {
  readonly graph: Graph;
  readonly inputs: MeshInputs;
  readonly index: ServiceIndex;
  readonly virtualServices: VirtualServices;
}

export function sidecarScope(context: ScopeContext, namespace: string, spec: SidecarSpec | undefined): ScopeData {
  const listeners: readonly (IstioEgressListener | undefined)[] = spec?.egress?.length ? spec.egress : [undefined];
  const egress = listeners.map((listener) => egressScope(context, namespace, listener));
  const union = createUnion(context);
  for (const entry of egress) {
    for (const key of entry.services.keys) union.add(key, entry.services.ports.get(key));
    for (const target of destinations(context, entry, namespace)) union.add(target.key, target.ports);
  }
  return { egress, ...union.result() };
}

/** The services of one host that everybody sees, oldest first, as the scopes above would have them. */
export function publicHost(context: ScopeContext, keys: readonly string[]): PublicHost | undefined {
  const listed = oneNamespacePerHost(context, keys, "");
  const union = createUnion(context);
  for (const key of listed) union.add(key, undefined);
  const { services } = union.result();
  const [key] = services.keys;
  return key === undefined ? undefined : { key, listed, added: services.added.get(key) ?? new Map() };
}

/** The VirtualServices that everybody sees. */
export function publicVirtualServices(context: ScopeContext, type: ProxyType): readonly string[] {
  return type === "router"
    ? context.virtualServices.bound("", "mesh")
    : importedVirtualServices(context, parseEgressHosts(["*/*"], ""), "");
}

export function gatewayScope(context: ScopeContext, namespace: string): ScopeData {
  const union = createUnion(context);
  for (const key of context.index.visible(namespace)) union.add(key, undefined);
  const { services, byHost } = union.result();
  const virtualServices = context.virtualServices.bound(namespace, "mesh");
  return { egress: [{ listener: undefined, services, virtualServices }], services, byHost };
}

function egressScope(context: ScopeContext, namespace: string, listener: IstioEgressListener | undefined): EgressData {
  const hosts = parseEgressHosts(listener?.hosts ?? ["*/*"], namespace);
  const port = matchedPort(listener);
  const keys = importedServices(context, hosts, namespace).filter(
    (key) => port === undefined || context.inputs.services.get(key)?.ports.some((candidate) => candidate.port === port),
  );
  const services = oneNamespacePerHost(context, keys, namespace);
  return {
    listener,
    services: {
      keys: services,
      ports: new Map(port === undefined ? [] : services.map((key) => [key, [port]])),
      added: new Map(),
    },
    virtualServices: importedVirtualServices(context, hosts, namespace),
  };
}

/**
 * A listener with a port shows only that port of services, unless it is a forward proxy. As in Istio it may be one for UDP:
 * nothing connects to it, but the service's name is resolved.
 */
function matchedPort(listener: IstioEgressListener | undefined): number | undefined {
  const { number = 0, protocol = "" } = listener?.port ?? {};
  return number === 0 || parseProtocol(protocol) === "HTTP_PROXY" ? undefined : number;
}

function importedServices({ index }: ScopeContext, hosts: EgressHosts, namespace: string): readonly string[] {
  if (!hosts.exact) return index.visible(namespace).filter((key) => imports(index.head(key), hosts));
  const named = hosts.exact.map(([owner, host]) => `${owner}/${host}`).filter((key) => index.isVisible(key, namespace));
  return index.byAge([...new Set(named)].filter((key) => imports(index.head(key), hosts)));
}

const imports = (head: ServiceHead | undefined, hosts: EgressHosts): boolean =>
  head !== undefined && hosts.importsService(head.namespace, head.host);

/** Own namespace first; else the first found, unless it is a ServiceEntry's and a later one is a Kubernetes Service. */
function oneNamespacePerHost({ index }: ScopeContext, keys: readonly string[], own: string): readonly string[] {
  const chosen = new Map<string, ServiceHead>();
  for (const key of keys) {
    const head = index.head(key);
    if (!head) continue;
    const known = chosen.get(head.host);
    const isBetter =
      !known || head.namespace === own || (known.namespace !== own && !known.kubernetes && head.kubernetes);
    if (isBetter) chosen.set(head.host, head);
  }
  return keys.filter((key) => {
    const head = index.head(key);
    return head && chosen.get(head.host)?.namespace === head.namespace;
  });
}

/** Own, exported, public; in each those of Gateway API routes of the own namespace first. */
function importedVirtualServices(
  { virtualServices }: ScopeContext,
  hosts: EgressHosts,
  namespace: string,
): readonly string[] {
  const found = virtualServices.boundGroups(namespace, "mesh").flatMap((group) => {
    const heads = group
      .flatMap((key) => virtualServices.head(key) ?? [])
      .filter((head) => hosts.importsVirtualService(head.meta.namespace, head.hosts, head.gatewayApi));
    const isConsumer = (head: (typeof heads)[number]): boolean => head.gatewayApi && head.meta.namespace === namespace;
    return [...heads.filter(isConsumer), ...heads.filter((head) => !isConsumer(head))];
  });
  return [...new Set(found.map((head) => head.key))];
}

/** Services that imported VirtualServices send to, whether or not the listener names them. */
function destinations(
  { inputs, index, virtualServices }: ScopeContext,
  egress: EgressData,
  namespace: string,
): readonly { readonly key: string; readonly ports: readonly number[] | undefined }[] {
  const port = matchedPort(egress.listener);
  return egress.virtualServices.flatMap((id) => {
    const ports = new Map<string, Set<number>>();
    for (const target of virtualServices.targets(id)) {
      if (target.from && !target.from.includes(namespace)) continue;
      ports.set(target.host, (ports.get(target.host) ?? new Set()).add(target.port));
    }
    return [...ports].flatMap(([host, wanted]) => {
      const key = chooseNamespace(index, host, namespace);
      const service = key === undefined ? undefined : inputs.services.get(key);
      if (!service) return [];
      const left = portsLeft(service, port === undefined ? wanted : new Set([port]), port !== undefined);
      return left === "none" ? [] : [{ key: service.key, ports: left }];
    });
  });
}

function portsLeft(
  service: Service,
  wanted: ReadonlySet<number>,
  strict: boolean,
): readonly number[] | undefined | "none" {
  if (!strict && wanted.has(0)) return undefined;
  const found = service.ports.filter((port) => wanted.has(port.port)).map((port) => port.port);
  if (found.length === 0) return "none";
  return found.length === service.ports.length ? undefined : found;
}

/** Own namespace whoever may see it, else a visible Kubernetes Service, else the oldest visible one. */
function chooseNamespace(index: ServiceIndex, host: string, namespace: string): string | undefined {
  const all = index.ofHost(host).flatMap((key) => index.head(key) ?? []);
  const own = all.find((head) => head.namespace === namespace);
  if (own) return own.key;
  const visible = index.byAge(all.filter((head) => index.isVisible(head.key, namespace)).map((head) => head.key));
  return visible.find((key) => index.head(key)?.kubernetes) ?? visible[0];
}

/** Services of several listeners together: one per host, ports added up, Kubernetes before others. */
function createUnion({ index, inputs }: ScopeContext): {
  add(key: string, ports: readonly number[] | undefined): void;
  result(): { readonly services: ScopedServices; readonly byHost: ReadonlyMap<string, string> };
} {
  interface Entry {
    head: ServiceHead;
    ports: Set<number> | undefined;
    readonly added: Map<number, string>;
  }
  const entries = new Map<string, Entry>();
  const addPorts = (entry: Entry, key: string, ports: readonly number[] | undefined): void => {
    const [known, other] = [inputs.services.get(entry.head.key), inputs.services.get(key)];
    if (!known || !other || !canMerge(known, other)) return;
    const own = entry.ports ?? new Set(known.ports.map(({ port }) => port));
    for (const port of ports ?? other.ports.map((candidate) => candidate.port))
      if (!own.has(port) && !entry.added.has(port)) entry.added.set(port, key);
  };
  return {
    add(key, ports) {
      const head = index.head(key);
      if (!head) return;
      const known = entries.get(head.host);
      if (!known || (!known.head.kubernetes && head.kubernetes)) {
        // A Map keeps the place of a replaced entry, as istiod does.
        entries.set(head.host, { head, ports: ports && new Set(ports), added: new Map() });
        return;
      }
      if (known.head.key !== key) {
        if (known.head.namespace === head.namespace && !known.head.kubernetes) addPorts(known, key, ports);
        return;
      }
      if (!ports) known.ports = undefined;
      for (const port of ports ?? []) known.ports?.add(port);
    },
    result() {
      const all = [...entries.values()];
      return {
        services: {
          keys: all.map((entry) => entry.head.key),
          ports: new Map(all.flatMap(({ head, ports }) => (ports ? [[head.key, [...ports]] as const] : []))),
          added: new Map(all.flatMap(({ head, added }) => (added.size > 0 ? [[head.key, added] as const] : []))),
        },
        byHost: new Map(all.map((entry) => [entry.head.host, entry.head.key])),
      };
    },
  };
}

/** Objects of one namespace and host whose ports become one service's: those that differ in nothing but ports and addresses. */
function canMerge(a: Service, b: Service): boolean {
  return (
    a.resolution === b.resolution &&
    a.registry === b.registry &&
    sameData(a.labels, b.labels) &&
    sameData(a.selector ?? {}, b.selector ?? {}) &&
    sameData([...(a.declaredExportTo ?? [])].sort(), [...(b.declaredExportTo ?? [])].sort())
  );
}

/** The service with the ports that are left of it, in the service's own order. */
export function withPortsLeft(service: Service, ports: readonly number[] | undefined): Service {
  if (!ports || ports.length === service.ports.length) return service;
  return { ...service, ports: service.ports.filter((port) => ports.includes(port.port)) };
}

/** Hosts of VirtualServices with the key of the first in precedence that has each. */
export interface RouteHosts {
  readonly owners: ReadonlyMap<string, string>;
  readonly wildcards: readonly string[];
}

export function createRouteHosts({ virtualServices }: ScopeContext, keys: readonly string[]): RouteHosts {
  const owners = new Map<string, string>();
  for (const key of keys) {
    for (const host of virtualServices.head(key)?.hosts ?? []) if (!owners.has(host)) owners.set(host, key);
  }
  return { owners, wildcards: [...owners.keys()].filter((host) => isWildcard(host)) };
}

/** Key of the VirtualService with the most specific host. */
export function mostSpecificVirtualService({ owners, wildcards }: RouteHosts, host: string): string | undefined {
  const found = mostSpecific(host, (name) => owners.has(name), wildcards);
  return found === undefined ? undefined : owners.get(found);
}
