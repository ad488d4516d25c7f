/** The services and VirtualServices of a place in; its virtual hosts, with names, domains and whose routes they have, out. */
import { compareText } from "../../lib/index.ts";
import {
  type Config,
  isHttp,
  isSniffed,
  objectName,
  type Service,
  type VirtualServiceSpec,
} from "../../model/index.ts";
import type { View } from "../view.ts";
import { createDomainClaims } from "./domain-claims.ts";
import { bracketed, hostPort, isUsableDomain, serviceDomains } from "./domains.ts";
import { type EgressPlace, egressScope, egressService, egressServices } from "./egress.ts";
import { splitHosts } from "./host-split.ts";
import type { RouteSource } from "./place.ts";
import { appliesSomewhere } from "./select.ts";
import { routeSemantics } from "./semantics.ts";

/** Whose routes a virtual host has: those of a VirtualService, or the one to a service's port. */
export type RouteOwner =
  | { readonly kind: "virtual-service"; readonly key: string }
  | { readonly kind: "service"; readonly key: string; readonly port: number };

export interface PlannedHost {
  readonly name: string;
  readonly domains: readonly string[];
  readonly owner: RouteOwner;
}

/** Hosts on one port that share their routes. */
interface Group {
  readonly port: number;
  readonly owner: RouteOwner;
  /** The object that domains are claimed for. */
  readonly object: string;
  readonly others: readonly string[];
  readonly services: readonly Service[];
}

export function meshSource(view: View, port: number): RouteSource {
  return { port, gateway: "mesh", namespace: view.proxy.namespace, labels: view.proxy.labels };
}

/** In order of their names. */
export function planHosts(view: View, place: EgressPlace): readonly PlannedHost[] {
  const groups = planGroups(view, place);
  const claims = createDomainClaims(
    groups.flatMap(({ services, port }) => services.flatMap(({ host }) => [host, hostPort(host, port)])),
  );
  const note = (object: string): void => view.mesh.graph.note(object, "spec.hosts");
  const hosts: PlannedHost[] = [];
  for (const group of groups) {
    const add = (host: string, wanted: readonly string[], variants: ReadonlySet<string>): void => {
      const name = hostPort(host, group.port);
      const claimed = claims.claim(name, wanted, variants);
      // Somebody older has the name: the younger object does nothing there, and its owner can find out why.
      if (claimed.length < wanted.length) note(group.object);
      const domains =
        place.port === 0 && group.port !== 80 ? claimed.filter((domain) => domain.includes(":")) : claimed;
      if (domains.length > 0) hosts.push({ name, domains, owner: group.owner });
    };
    for (const other of group.others.filter(isUsableDomain))
      add(other.toLowerCase(), [bracketed(other.toLowerCase())], new Set());
    for (const service of group.services) {
      const { names, variants } = serviceDomains(view.proxy, service, {
        domain: view.mesh.domain,
        aliases: egressScope(view, place)?.aliases(service.key) ?? [],
        port: place.port === 0 ? group.port : undefined,
      });
      add(service.host.toLowerCase(), names, variants);
    }
  }
  return hosts.sort((a, b) => compareText(a.name, b.name));
}

/** VirtualServices in order of precedence, then the services that none of them took. */
function planGroups(view: View, place: EgressPlace): readonly Group[] {
  const services = egressServices(view, place);
  const taken = new Set<string>();
  const groups: Group[] = [];
  for (const key of egressScope(view, place)?.virtualServiceKeys ?? []) {
    for (const group of virtualServiceGroups(view, place, key, services)) {
      groups.push(group);
      for (const { host } of group.services) taken.add(host.toLowerCase());
    }
  }
  for (const [host, key] of services) {
    if (!taken.has(host)) groups.push(...serviceGroups(view, place, key));
  }
  return place.port === 0 ? groups.sort((a, b) => portRank(a.port) - portRank(b.port)) : groups;
}

/** Bare names belong to port 80, whose hosts therefore claim first. */
const portRank = (port: number): number => (port === 80 ? 0 : port);

function serviceGroups(view: View, place: EgressPlace, key: string): readonly Group[] {
  const service = egressService(view, place, key);
  // An alias is a further domain of the service that it stands for.
  if (!service || service.resolution === "alias") return [];
  return httpPorts(service).map((port) => ({
    port,
    owner: { kind: "service", key, port },
    object: service.object,
    others: [],
    services: [service],
  }));
}

function virtualServiceGroups(
  view: View,
  place: EgressPlace,
  key: string,
  services: ReadonlyMap<string, string>,
): readonly Group[] {
  const config = view.mesh.virtualService(key);
  const egress = egressScope(view, place);
  if (!config || !egress) return [];
  const semantics = routeSemantics(config.meta);
  const split = splitHosts({ key, hosts: config.spec.hosts ?? [], semantics }, services, egress.virtualServiceFor);
  const found = split.services.flatMap((host) => egressService(view, place, services.get(host) ?? "") ?? []);
  if (semantics === "gateway-api" && !mayRoute(view, config, found)) return [];
  const ports = portsOf(place, found);
  if (ports.length === 0 || !hasRoutes(view, place, key)) return [];
  return ports.map((port) => ({
    port,
    owner: { kind: "virtual-service", key },
    object: objectName("VirtualService", config.meta),
    others: split.others,
    services: found.filter((service) => httpPorts(service).includes(port)),
  }));
}

/** Hosts that no service has are served on port 80 alone. */
function portsOf(place: EgressPlace, services: readonly Service[]): readonly number[] {
  const ports = [...new Set(services.flatMap(httpPorts))];
  return ports.length === 0 && place.port === 80 ? [80] : ports;
}

const httpPorts = (service: Service): number[] =>
  service.ports.filter(({ protocol }) => isHttp(protocol) || isSniffed(protocol)).map(({ port }) => port);

/** A Gateway API route for a Service counts for clients in its own namespace, or when it is of the Service's namespace. */
function mayRoute(view: View, config: Config<VirtualServiceSpec>, services: readonly Service[]): boolean {
  const { namespace } = config.meta;
  return view.proxy.namespace === namespace
    ? services.length > 0
    : services.some((service) => service.namespace === namespace);
}

/** False where no route is for this proxy: its hosts are then served as if there were no VirtualService. */
function hasRoutes(view: View, { port }: EgressPlace, key: string): boolean {
  return view.shared(`route.applies|${port}|${key}`, () =>
    appliesSomewhere(view.mesh.virtualService(key), meshSource(view, port)),
  );
}
