/** The services and VirtualServices of a place in; its virtual hosts, with names, domains and whose routes they have, out. */
import { compareText } from "../../lib/index.ts";
import type { EgressScope } from "../../mesh/index.ts";
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
import { type EgressPlace, egressScope, egressServices, portsAt } from "./egress.ts";
import { splitHosts } from "./host-split.ts";
import type { RouteSource } from "./place.ts";
import { appliesSomewhere } from "./select.ts";
import { routeSemantics } from "./semantics.ts";

/** Whose routes a virtual host has: those of a VirtualService, or the one to a service's port. */
export type RouteOwner =
  | { readonly kind: "virtual-service"; readonly key: string }
  | { readonly kind: "service"; readonly key: string; readonly host: string; readonly port: number };

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

interface Planning {
  readonly view: View;
  readonly place: EgressPlace;
  readonly egress: EgressScope;
}

export function meshSource(view: View, port: number): RouteSource {
  return { port, gateway: "mesh", namespace: view.proxy.namespace, labels: view.proxy.labels };
}

/** In order of their names. */
export function planHosts(view: View, place: EgressPlace): readonly PlannedHost[] {
  const egress = egressScope(view, place);
  if (!egress) return [];
  const planning = { view, place, egress };
  const groups = planGroups(planning);
  const claims = createDomainClaims(
    groups.flatMap(({ services, port }) => services.flatMap(({ host }) => [host, hostPort(host, port)])),
  );
  const hosts: PlannedHost[] = [];
  for (const group of groups) {
    for (const { host, names, variants } of wantedDomains(planning, group)) {
      const name = hostPort(host, group.port);
      const claimed = claims.claim(name, names, variants);
      // Somebody older has the name: the younger object does nothing there, and its owner can find out why.
      if (claimed.length < names.length) view.mesh.graph.note(group.object, "spec.hosts");
      const domains = servesBareNames(place, group.port) ? claimed : claimed.filter((domain) => domain.includes(":"));
      if (domains.length > 0) hosts.push({ name, domains, owner: group.owner });
    }
  }
  return hosts.sort((a, b) => compareText(a.name, b.name));
}

/** Where a listener serves all ports, a name without port means port 80. */
const servesBareNames = (place: EgressPlace, port: number): boolean => place.port !== 0 || port === 80;

interface WantedDomains {
  readonly host: string;
  readonly names: readonly string[];
  readonly variants: ReadonlySet<string>;
}

const noVariants: ReadonlySet<string> = new Set();

function* wantedDomains({ view, place, egress }: Planning, group: Group): Generator<WantedDomains> {
  for (const other of group.others.filter(isUsableDomain)) {
    const host = other.toLowerCase();
    yield { host, names: [bracketed(host)], variants: noVariants };
  }
  for (const service of group.services) {
    const { names, variants } = serviceDomains(view.proxy, service, {
      domain: view.mesh.domain,
      aliases: egress.aliases(service.key),
      port: place.port === 0 ? group.port : undefined,
    });
    yield { host: service.host.toLowerCase(), names, variants };
  }
}

/** VirtualServices in order of precedence, then the services that none of them took. */
function planGroups(planning: Planning): readonly Group[] {
  const { view, place, egress } = planning;
  const services = egressServices(view, place);
  const taken = new Set<string>();
  const groups: Group[] = [];
  for (const key of egress.virtualServiceKeys) {
    for (const group of virtualServiceGroups(planning, key, services)) {
      groups.push(group);
      for (const { host } of group.services) taken.add(host.toLowerCase());
    }
  }
  for (const [host, key] of services) {
    if (!taken.has(host)) groups.push(...serviceGroups(planning, host, key));
  }
  return place.port === 0 ? groups.sort((a, b) => portRank(a.port) - portRank(b.port)) : groups;
}

/** Bare names belong to port 80, whose hosts therefore claim first. */
const portRank = (port: number): number => (port === 80 ? 0 : port);

function serviceGroups({ place, egress }: Planning, host: string, key: string): readonly Group[] {
  const service = egress.service(key);
  // An alias is a further domain of the service that it stands for.
  if (!service || service.resolution === "alias") return [];
  return httpPorts(place, service).map((port) => ({
    port,
    owner: { kind: "service", key, host, port },
    object: service.object,
    others: [],
    services: [service],
  }));
}

function virtualServiceGroups(
  planning: Planning,
  key: string,
  services: ReadonlyMap<string, string>,
): readonly Group[] {
  const { view, place, egress } = planning;
  const config = view.mesh.virtualService(key);
  if (!config) return [];
  const semantics = routeSemantics(config.meta);
  const split = splitHosts({ key, hosts: config.spec.hosts ?? [], semantics }, services, egress.virtualServiceFor);
  const found = split.services.flatMap((host) => egress.service(services.get(host) ?? "") ?? []);
  if (semantics === "gateway-api" && !mayRoute(view, config, found)) return [];
  const ports = portsOf(place, found);
  if (ports.length === 0 || !hasRoutes(view, place, key)) return [];
  return ports.map((port) => ({
    port,
    owner: { kind: "virtual-service", key },
    object: objectName("VirtualService", config.meta),
    others: split.others,
    services: found.filter((service) => httpPorts(place, service).includes(port)),
  }));
}

/** Hosts that no service has are served on port 80 alone. */
function portsOf(place: EgressPlace, services: readonly Service[]): readonly number[] {
  const ports = [...new Set(services.flatMap((service) => httpPorts(place, service)))];
  return ports.length === 0 && place.port === 80 ? [80] : ports;
}

const httpPorts = (place: EgressPlace, service: Service): number[] =>
  portsAt(place, service)
    .filter(({ protocol }) => isHttp(protocol) || isSniffed(protocol))
    .map(({ port }) => port);

/** A Gateway API route for a Service counts for clients in its own namespace, or when it is of the Service's namespace. */
function mayRoute(view: View, config: Config<VirtualServiceSpec>, services: readonly Service[]): boolean {
  const { namespace } = config.meta;
  if (view.proxy.namespace === namespace) return services.length > 0;
  return services.some((service) => service.namespace === namespace);
}

/** False where no route is for this proxy: its hosts are then served as if there were no VirtualService. */
function hasRoutes(view: View, { port }: EgressPlace, key: string): boolean {
  return view.shared(`route.applies|${port}|${key}`, () =>
    appliesSomewhere(view.mesh.virtualService(key), meshSource(view, port)),
  );
}
