/** What a sidecar sees in; all its outbound listeners, with conflicts between services on one port settled, out. */
import { parseIp } from "../../lib/index.ts";
import type { EgressScope, Scope } from "../../mesh/index.ts";
import { isHttp, isTls, parseProtocol, type Service, type ServicePort } from "../../model/index.ts";
import { canListen, isWildcardAddress, localhosts, servicePlaces, wildcards } from "../proxy/addresses.ts";
import { canBind } from "../proxy/proxy-config.ts";
import type { OutboundListener } from "./outbound-chain.ts";
import { createOutboundMerge, type PortRequest } from "./outbound-merge.ts";
import type { PlanView } from "./outbound-tcp.ts";

export interface OutboundPlan {
  /** By name. */
  readonly listeners: ReadonlyMap<string, OutboundListener>;
  /** Addresses of headless services' members that are listened at. */
  readonly members: ReadonlySet<string>;
  /** Whether it makes a difference to some listener who the client is. */
  readonly personal: boolean;
}

/** What one service wants of a sidecar's outbound side. */
export interface ServiceRequests {
  readonly requests: readonly PortRequest[];
  readonly members: readonly string[];
  /** Other names stand for it where names tell connections apart. */
  readonly aliased: boolean;
}

/** `wantedBy` is asked for each service of each egress listener. */
export function planListeners(
  view: PlanView,
  scope: Scope,
  wantedBy = (egress: EgressScope, key: string) => serviceRequests(view, egress, key),
): OutboundPlan {
  const merge = createOutboundMerge(view);
  const members = new Set<string>();
  let personal = false;
  for (const egress of scope.egress) {
    // VirtualServices for HTTP alone are left to routes, so that a change to one does not touch listeners.
    const heads = egress.virtualServiceKeys.flatMap((key) => view.mesh.virtualServiceHead(key) ?? []);
    const layer4 = heads.filter((head) => head.layer4);
    personal ||= layer4.some((head) => head.sourced);
    const routes = layer4.flatMap(({ key }) => view.mesh.virtualService(key) ?? []);
    // Ports that the user declared are not added to by the catch-all after them.
    if (!egress.listener?.port) merge.lock();
    for (const key of egress.services) {
      const wanted = wantedBy(egress, key);
      if (!wanted) continue;
      personal ||= wanted.aliased;
      for (const member of wanted.members) members.add(member);
      for (const request of wanted.requests) merge.add(request, routes);
    }
  }
  return { listeners: merge.result(), members, personal };
}

/** `own` is the proxy's own address, where no outbound traffic goes. */
export function serviceRequests(
  view: PlanView,
  egress: EgressScope,
  key: string,
  own?: string,
): ServiceRequests | undefined {
  const service = egress.table.service(key);
  if (!service || service.resolution === "alias") return undefined;
  const binding = egressBinding(view, egress);
  const port = egress.listener?.port;
  const declared: ServicePort | undefined = port && {
    name: port.name ?? "",
    port: port.number ?? 0,
    protocol: parseProtocol(port.protocol ?? ""),
  };
  const planning: Planning = { view, own, members: new Set() };
  let aliased = false;
  const free = (declared ? [declared] : service.ports).filter((candidate) => isFree(view, binding, candidate));
  const found = free.flatMap((candidate) => {
    const aliases = isTls(candidate.protocol) ? egress.aliases(key) : [];
    aliased ||= aliases.length > 0;
    return requests(planning, { service, aliases, port: candidate }, binding, !declared);
  });
  return found.length === 0 ? undefined : { requests: found, members: [...planning.members], aliased };
}

interface Planning {
  readonly view: PlanView;
  readonly own: string | undefined;
  readonly members: Set<string>;
}

interface Binding {
  readonly binds: readonly string[];
  readonly bindToPort: boolean;
}

/** Without capture, or on a Unix socket, a listener is a real one; then it is on loopback unless the user said where. */
function egressBinding(view: PlanView, { listener }: EgressScope): Binding {
  const bind = listener?.bind ?? "";
  const bindToPort =
    view.proxy.interception === "NONE" || listener?.captureMode === "NONE" || bind.startsWith("unix://");
  return { binds: bind !== "" ? [bind] : bindToPort ? localhosts(view.proxy) : [], bindToPort };
}

/** Envoy's own listeners keep their ports; what is no address can have no listener. */
function isFree(view: PlanView, { binds, bindToPort }: Binding, { port, protocol }: ServicePort): boolean {
  if (bindToPort && !canBind(view.proxy, port)) return false;
  const [bind] = binds;
  if (!canListen(bind ?? wildcards(view.proxy)[0], port)) return false;
  const onWildcard = bind === undefined ? isHttp(protocol) : bind === wildcards(view.proxy)[0];
  const { proxyListenPort, proxyInboundListenPort } = view.mesh.settings();
  return !onWildcard || (port !== proxyListenPort && port !== proxyInboundListenPort);
}

/** Where a service's port is listened for: at its addresses, at those of its members, or on the wildcard. */
function requests(
  planning: Planning,
  wanted: Pick<PortRequest, "service" | "aliases" | "port">,
  binding: Binding,
  catchAll: boolean,
): readonly PortRequest[] {
  const { view } = planning;
  const { service, port } = wanted;
  const request = { ...wanted, bindToPort: binding.bindToPort, ranges: [] };
  const places = servicePlaces(view.proxy, service);
  const [place] = places[0] ?? [""];
  const [first, ...rest] = binding.binds;
  if (first !== undefined) return [{ ...request, binds: [first, ...rest], place }];
  if (isHttp(port.protocol)) return [{ ...request, binds: wildcards(view.proxy), place }];
  const members =
    catchAll && service.resolution === "passthrough" && isWildcardAddress(place)
      ? memberBinds(planning, service, port)
      : undefined;
  if (members) return members.map((binds) => ({ ...request, binds, place }));
  return places.map((addresses) =>
    addresses[0].includes("/")
      ? { ...request, binds: wildcards(view.proxy), place: addresses[0], ranges: addresses }
      : { ...request, binds: addresses, place: addresses[0] },
  );
}

/**
 * A headless service is reached at its members' addresses, each with a listener of its own; not at the proxy's own,
 * where no outbound traffic goes. Only a ServiceEntry that can have no members is listened for on the wildcard.
 */
function memberBinds(
  { view, own, members }: Planning,
  service: Service,
  port: ServicePort,
): readonly (readonly [string, ...string[]])[] | undefined {
  const endpoints = view.mesh.endpoints(service.key, port);
  if (service.registry === "External" && endpoints.length === 0 && !service.selector) return undefined;
  return endpoints.flatMap(({ addresses: [first, ...rest] }) => {
    if (first === undefined || first === own) return [];
    if (![first, ...rest].every((address) => parseIp(address) !== undefined)) return [];
    members.add(first);
    return [[first, ...rest] as const];
  });
}
