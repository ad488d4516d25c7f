/** What a sidecar sees in; all its outbound listeners, with conflicts between services on one port settled, out. */
import { parseIp } from "../lib/index.ts";
import type { EgressScope } from "../mesh/index.ts";
import {
  type Config,
  isHttp,
  isTls,
  parseProtocol,
  type Service,
  type ServicePort,
  type VirtualServiceSpec,
} from "../model/index.ts";
import { canListen, isWildcardAddress, localhosts, servicePlaces, wildcards } from "./addresses.ts";
import type { OutboundListener } from "./listener-outbound-chain.ts";
import { createOutboundMerge, type OutboundMerge, type PortRequest } from "./listener-outbound-merge.ts";
import { canBind } from "./proxy-config.ts";
import type { View } from "./view.ts";

/** By name. */
export function outboundListeners(view: View): ReadonlyMap<string, OutboundListener> {
  return view.shared("outbound-listeners", () => {
    const merge = createOutboundMerge(view);
    const { namespace, labels } = view.proxy;
    view.mesh.scope(namespace, labels).egress.forEach((egress, index) => {
      addEgress(view, merge, egress, layer4(view, index));
    });
    return merge.result();
  });
}

/** One listener alone: its readers are left alone when others change. */
export function outboundListener(view: View, name: string): OutboundListener | undefined {
  return view.shared(`outbound-listener|${name}`, () => outboundListeners(view).get(name));
}

/** Names of the route configurations that outbound listeners ask for. */
export function outboundListenerRoutes(view: View): readonly string[] {
  return view.shared("outbound-listener-routes", () => {
    const names = new Set<string>();
    for (const { chains } of outboundListeners(view).values()) {
      for (const chain of chains) if (chain.kind === "http") names.add(chain.routeName);
    }
    return [...names];
  });
}

/** VirtualServices for HTTP alone are left to routes, so that a change to one does not touch listeners. */
function layer4(view: View, index: number): readonly Config<VirtualServiceSpec>[] {
  return view.shared(`layer-4|${index}`, () => {
    const { namespace, labels } = view.proxy;
    return (view.mesh.scope(namespace, labels).egress[index]?.virtualServiceKeys ?? [])
      .filter((key) => view.mesh.virtualServiceHead(key)?.layer4)
      .flatMap((key) => view.mesh.virtualService(key) ?? []);
  });
}

function addEgress(
  view: View,
  merge: OutboundMerge,
  egress: EgressScope,
  virtualServices: readonly Config<VirtualServiceSpec>[],
): void {
  const binding = egressBinding(view, egress);
  const port = egress.listener?.port;
  // Ports that the user declared are not added to by the catch-all after them.
  if (!port) merge.lock();
  const declared: ServicePort | undefined = port && {
    name: port.name ?? "",
    port: port.number ?? 0,
    protocol: parseProtocol(port.protocol ?? ""),
  };
  for (const key of egress.services) {
    const service = egress.service(key);
    if (!service || service.resolution === "alias") continue;
    const ports = declared ? [declared] : service.ports;
    for (const candidate of ports) {
      if (!isFree(view, binding, candidate)) continue;
      const aliases = isTls(candidate.protocol) ? egress.aliases(key) : [];
      for (const request of requests(view, { service, aliases, port: candidate }, binding, !declared))
        merge.add(request, virtualServices);
    }
  }
}

interface Binding {
  readonly binds: readonly string[];
  readonly bindToPort: boolean;
}

/** Without capture, or on a Unix socket, a listener is a real one; then it is on loopback unless the user said where. */
function egressBinding(view: View, { listener }: EgressScope): Binding {
  const bind = listener?.bind ?? "";
  const bindToPort =
    view.proxy.interception === "NONE" || listener?.captureMode === "NONE" || bind.startsWith("unix://");
  return { binds: bind !== "" ? [bind] : bindToPort ? localhosts(view.proxy) : [], bindToPort };
}

/** Envoy's own listeners keep their ports; what is no address can have no listener. */
function isFree(view: View, { binds, bindToPort }: Binding, { port, protocol }: ServicePort): boolean {
  if (bindToPort && !canBind(view.proxy, port)) return false;
  const [bind] = binds;
  if (!canListen(bind ?? wildcards(view.proxy)[0], port)) return false;
  const onWildcard = bind === undefined ? isHttp(protocol) : bind === wildcards(view.proxy)[0];
  const { proxyListenPort, proxyInboundListenPort } = view.mesh.settings();
  return !onWildcard || (port !== proxyListenPort && port !== proxyInboundListenPort);
}

/** Where a service's port is listened for: at its addresses, at those of its members, or on the wildcard. */
function requests(
  view: View,
  wanted: Pick<PortRequest, "service" | "aliases" | "port">,
  binding: Binding,
  catchAll: boolean,
): readonly PortRequest[] {
  const { service, port } = wanted;
  const request = { ...wanted, bindToPort: binding.bindToPort, ranges: [] };
  const places = servicePlaces(view.proxy, service);
  const [place] = places[0] ?? [""];
  const [first, ...rest] = binding.binds;
  if (first !== undefined) return [{ ...request, binds: [first, ...rest], place }];
  if (isHttp(port.protocol)) return [{ ...request, binds: wildcards(view.proxy), place }];
  const members =
    catchAll && service.resolution === "passthrough" && isWildcardAddress(place)
      ? memberBinds(view, service, port)
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
  view: View,
  service: Service,
  port: ServicePort,
): readonly (readonly [string, ...string[]])[] | undefined {
  const endpoints = view.mesh.endpoints(service.key, port);
  if (service.registry === "External" && endpoints.length === 0 && !service.selector) return undefined;
  const [own] = view.proxy.ownAddresses;
  return endpoints.flatMap(({ addresses: [first, ...rest] }) => {
    const usable =
      first !== undefined && first !== own && [first, ...rest].every((address) => parseIp(address) !== undefined);
    return usable ? [[first, ...rest] as const] : [];
  });
}
