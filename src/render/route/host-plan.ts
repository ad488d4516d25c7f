/** The services and VirtualServices of a place in; its virtual hosts, with names, domains and whose routes they have, out. */
import { compareText } from "../../lib/index.ts";
import type { EgressScope, Scope, VirtualServiceHead } from "../../mesh/index.ts";
import { type BuildFacet, isHttp, isSniffed, objectName, type Service } from "../../model/index.ts";
import { isProxyless } from "../proxy/profile.ts";
import { keyOf, wordsOf } from "../recipe.ts";
import type { View } from "../view.ts";
import { createDomainClaims, type WantedNames } from "./domain-claims.ts";
import { bracketed, hostPort, isUsableDomain } from "./domains.ts";
import { type EgressPlace, type PlaceServices, portsAt } from "./egress.ts";
import { splitHosts } from "./host-split.ts";
import { hashingRule, routesApply, serviceOwner, virtualServiceOwner } from "./owner.ts";
import { type Client, excludedFor } from "./select.ts";
import { semanticsOf } from "./semantics.ts";
import { type ServiceNames, serviceNames } from "./service-names.ts";

export interface PlannedHost {
  /** All that decides about it, as the key of its recipe: made here, because plans change less often than hosts are asked for. */
  readonly key: string;
  readonly name: string;
  readonly domains: readonly string[];
  /** For `ownerRoutes`. */
  readonly owner: string;
  /** Key of the VirtualService whose routes it has, if any. */
  readonly virtualService: string | undefined;
  /** The service that it stands for, if any, and the port of it. */
  readonly service: PlannedService | undefined;
}

interface PlannedService {
  readonly key: string;
  /** From which it has bare names: its own and those of its aliases. */
  readonly namespaces: readonly string[];
  /** In lower case. */
  readonly host: string;
  readonly port: number;
}

export interface HostPlan {
  /** In order of their names. */
  readonly hosts: readonly PlannedHost[];
  /** Where the hosts are among them that have bare names from a namespace. */
  readonly byNamespace: ReadonlyMap<string, readonly number[]>;
  /** Whether any of them asked for a domain, in lower case. */
  isWanted(domain: string): boolean;
  /** By a host's name, the objects that did not get all that they wanted of it. */
  readonly refused: ReadonlyMap<string, readonly string[]>;
}

export const noPlan: HostPlan = { hosts: [], byNamespace: new Map(), isWanted: () => false, refused: new Map() };

/** Somebody older has the name: the younger object does nothing there, and its owner can find out why. */
export const noteRefused = ({ mesh }: View<BuildFacet>, object: string): void => mesh.graph.note(object, "spec.hosts");

/** Whose plan it is, and what is needed to make it. */
export interface Planning {
  readonly view: View<BuildFacet>;
  readonly scope: Scope;
  readonly egress: EgressScope;
  readonly place: EgressPlace;
  readonly client: Client;
  /** Those that have the place's port. */
  readonly services: PlaceServices;
  /** Reference of a service's rule; "" for none. */
  readonly ruleOf: (service: string) => string;
}

/** Hosts on one port that share their routes, as they are wanted: what is left of it others decide too. */
interface Group {
  readonly port: number;
  readonly owner: string;
  readonly virtualService: string | undefined;
  /** The object that domains are claimed for. */
  readonly object: string;
  /** Services that it routes, by their lower-case hosts. */
  readonly hosts: readonly string[];
  readonly wanted: readonly Wanted[];
}

/** What one VirtualService, or one service that none routes, wants of the place. */
export type Claim = readonly Group[];

/** Who wants something of the place: its VirtualServices in order of precedence, then its services. */
export function claimants({ egress, services }: Planning): readonly string[] {
  return [
    ...egress.virtualServiceKeys.map((key) => keyOf("route", key)),
    ...Array.from(services.entries(), ([host, key]) => keyOf("service", key, host)),
  ];
}

export function claimOf(planning: Planning, claimant: string): Claim | undefined {
  const [kind, key = "", host = ""] = wordsOf(claimant);
  const groups = kind === "route" ? virtualServiceGroups(planning, key) : serviceGroups(planning, host, key);
  return groups.length > 0 ? groups : undefined;
}

export function planHosts(planning: Planning): HostPlan {
  return planClaims(
    planning,
    claimants(planning).flatMap((claimant) => claimOf(planning, claimant) ?? []),
  );
}

/** Who comes first has the domain. */
export function planClaims({ view, place }: Pick<Planning, "view" | "place">, claims: Iterable<Group>): HostPlan {
  const groups = inOrder(place, claims);
  const claimed = createDomainClaims(new Set(groups.flatMap(({ wanted }) => wanted.flatMap((one) => one.reserved))));
  const hosts: PlannedHost[] = [];
  const refused = new Map<string, readonly string[]>();
  for (const group of groups) {
    for (const one of group.wanted) {
      const names = claimed.claim(one);
      if (names !== one.names) {
        noteRefused(view, group.object);
        refused.set(one.name, [...(refused.get(one.name) ?? []), group.object]);
      }
      const host = names === one.names ? wholeHost(place, group, one) : hostOf(place, group, one, names);
      if (host.domains.length > 0) hosts.push(host);
    }
  }
  hosts.sort((a, b) => compareText(a.name, b.name));
  const placed = hosts.flatMap(({ service }, i) => (service?.namespaces ?? []).map((namespace) => ({ namespace, i })));
  const byNamespace = new Map(
    [...Map.groupBy(placed, ({ namespace }) => namespace)].map(([name, all]) => [name, all.map(({ i }) => i)]),
  );
  return { hosts, byNamespace, isWanted: claimed.isWanted, refused };
}

/** Services that a VirtualService routes are left to it. */
function inOrder(place: EgressPlace, claims: Iterable<Group>): readonly Group[] {
  const taken = new Set<string>();
  const groups: Group[] = [];
  for (const group of claims) {
    if (group.virtualService === undefined && group.hosts.every((host) => taken.has(host))) continue;
    groups.push(group);
    if (group.virtualService !== undefined) for (const host of group.hosts) taken.add(host);
  }
  return place.port === 0 ? groups.sort((a, b) => portRank(a.port) - portRank(b.port)) : groups;
}

/** Of what is wanted and can be had as it is: nearly all, plan after plan. A place is part of what its claims are made from. */
const whole = new WeakMap<Wanted, PlannedHost>();

function wholeHost(place: EgressPlace, group: Group, wanted: Wanted): PlannedHost {
  const host = whole.get(wanted) ?? hostOf(place, group, wanted, wanted.names);
  whole.set(wanted, host);
  return host;
}

function hostOf(place: EgressPlace, group: Group, { name, service }: Wanted, names: readonly string[]): PlannedHost {
  const { owner, virtualService } = group;
  return withKey({ name, domains: servedDomains(place, group.port, names), owner, virtualService, service });
}

export function withKey(host: Omit<PlannedHost, "key">): PlannedHost {
  return { ...host, key: keyOf(host.name, host.owner, ...host.domains) };
}

/** Where a listener serves all ports, a name without port means port 80. */
export function servedDomains(place: EgressPlace, port: number, domains: readonly string[]): readonly string[] {
  return place.port !== 0 || port === 80 ? domains : domains.filter((domain) => domain.includes(":"));
}

interface Wanted extends WantedNames {
  readonly service: PlannedHost["service"];
  /** Names that no variant of another's name may take. */
  readonly reserved: readonly string[];
}

const none: ReadonlySet<string> = new Set();

function* wantedNames(
  planning: Planning,
  port: number,
  others: readonly string[],
  services: readonly Service[],
): Generator<Wanted> {
  for (const other of others.filter(isUsableDomain)) {
    const host = other.toLowerCase();
    const name = hostPort(host, port);
    const names = isProxyless(planning.view.proxy) ? [bracketed(host), name] : [bracketed(host)];
    yield { name, names, keys: names, variants: none, reserved: [], service: undefined };
  }
  for (const { key } of services) {
    const found = namesOf(planning, key, port, planning.client.namespace);
    if (!found) continue;
    const { host, namespaces } = found;
    yield { ...found, service: { key, namespaces, host, port } };
  }
}

/** As clients of the namespace call the service. */
export function namesOf(
  { view, egress, place }: Pick<Planning, "view" | "egress" | "place">,
  service: string,
  port: number,
  namespace: string,
): ServiceNames | undefined {
  const aliases = egress.aliases(service);
  return serviceNames(view, {
    service,
    port,
    namespace,
    withPort: place.port === 0 || isProxyless(view.proxy),
    aliases,
  });
}

/** Bare names belong to port 80, whose hosts therefore claim first. */
const portRank = (port: number): number => (port === 80 ? 0 : port);

function serviceGroups(planning: Planning, host: string, key: string): readonly Group[] {
  const service = planning.egress.table.service(key);
  // An alias is a further domain of the service that it stands for.
  if (!service || service.resolution === "alias") return [];
  return httpPorts(planning.place, service).map((port) => ({
    port,
    owner: ownerOfService(planning, host, key, port),
    virtualService: undefined,
    object: service.object,
    hosts: [host],
    wanted: [...wantedNames(planning, port, [], [service])],
  }));
}

export function ownerOfService(planning: Planning, host: string, key: string, port: number): string {
  return serviceOwner({ host, port, rule: hashingRuleOf(planning, key) });
}

function hashingRuleOf({ view, ruleOf }: Planning, service: string): string {
  const rule = ruleOf(service);
  return rule !== "" && hashingRule(view, rule) ? rule : "";
}

function virtualServiceGroups(planning: Planning, key: string): readonly Group[] {
  const { view, place, egress, services } = planning;
  const head = view.mesh.virtualServiceHead(key);
  if (!head) return [];
  const semantics = semanticsOf(head.semantics);
  const split = splitHosts({ key, hosts: head.hosts, semantics }, services, egress.virtualServiceFor);
  const found = split.services.flatMap((host) => egress.table.service(services.get(host) ?? "") ?? []);
  if (semantics === "gateway-api" && !mayRoute(planning, head, found)) return [];
  const ports = portsOf(place, found);
  const excluded = excludedOf(planning, head);
  if (ports.length === 0 || !hasRoutes(planning, head, excluded)) return [];
  const owner = ownerOfVirtualService(planning, key, excluded);
  return ports.map((port) => {
    const routed = found.filter((service) => httpPorts(place, service).includes(port));
    return {
      port,
      owner,
      virtualService: key,
      object: objectName("VirtualService", head.meta),
      hosts: routed.map(({ host }) => host.toLowerCase()),
      wanted: [...wantedNames(planning, port, split.others, routed)],
    };
  });
}

/** Which of its matches are for other clients; most VirtualServices do not ask where traffic comes from. */
export function excludedOf({ view, client }: Planning, { key, sourced }: VirtualServiceHead): readonly string[] {
  return sourced ? excludedFor(view.mesh.virtualService(key), client) : [];
}

export function hasRoutes({ view, place }: Planning, head: VirtualServiceHead, excluded: readonly string[]): boolean {
  return head.unconditional || routesApply(view, keyOf(head.key, String(place.port), ...excluded));
}

/** Of the destinations, what the routes depend on beside the VirtualService itself. */
export function ownerOfVirtualService(planning: Planning, key: string, excluded: readonly string[]): string {
  const { view, scope, place, egress, services } = planning;
  const hosts = [...new Set(view.mesh.virtualServiceTargets(key).map(({ host }) => host))].sort();
  return virtualServiceOwner({
    key,
    port: place.port,
    excluded,
    services: hosts.flatMap((host) => {
      const found = egress.table.service(services.get(host) ?? "");
      const ports = found && place.port === 0 ? portsAt(place, found) : [];
      const only = ports.length === 1 ? (ports[0]?.port ?? 0) : 0;
      return found && (found.externalName || only !== 0) ? [[host, found.externalName ?? "", only] as const] : [];
    }),
    rules: hosts.flatMap((host) => {
      const service = scope.table.keyFor(host);
      const rule = service === undefined ? "" : hashingRuleOf(planning, service);
      return rule === "" ? [] : [[host, rule] as const];
    }),
  });
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
function mayRoute({ client }: Planning, { meta }: VirtualServiceHead, services: readonly Service[]): boolean {
  if (client.namespace === meta.namespace) return services.length > 0;
  return services.some((service) => service.namespace === meta.namespace);
}
