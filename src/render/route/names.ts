/** A sidecar in; the names of all route configurations that its outbound listeners refer to out. */
import type { EgressScope } from "../../mesh/index.ts";
import {
  isHttp,
  isSniffed,
  isTcp,
  type Protocol,
  parseProtocol,
  type Service,
  type ServicePort,
} from "../../model/index.ts";
import { isWildcardAddress, localhosts, servicePlaces, wildcards } from "../addresses.ts";
import { canBind } from "../proxy-config.ts";
import type { View } from "../view.ts";
import { httpProxyRoute, sidecarScope, unixPrefix } from "./egress.ts";

/** An address and port that a listener is for. */
export interface OutboundPlace {
  readonly bind: string;
  readonly port: number;
  readonly protocol: Protocol;
  readonly host: string;
}

/** Sniffed ports with an address of their own have their own routes; all others share those of their port. */
export function outboundRouteName(view: View, place: OutboundPlace): string {
  if (place.port === 0) return place.bind;
  const own = isSniffed(place.protocol) && place.bind !== wildcards(view.proxy)[0];
  return own ? `${place.host}:${place.port}` : String(place.port);
}

export function outboundRouteNames(view: View): readonly string[] {
  return view.shared("route.names", () => {
    const listeners = createListeners(view);
    for (const egress of sidecarScope(view).egress) {
      if (egress.listener?.port) addDeclaredPort(view, egress, listeners);
      else addServicePorts(view, egress, listeners);
    }
    const names = listeners.routeNames();
    return view.mesh.settings().proxyHttpPort ? [...names, httpProxyRoute] : names;
  });
}

type Listeners = ReturnType<typeof createListeners>;

/**
 * Follows how listeners on one address and port come together: HTTP joins TCP as a further chain, the first HTTP chain
 * stays, a sniffed service replaces plain HTTP.
 */
function createListeners(view: View) {
  const entries = new Map<
    string,
    { kind: "http" | "tcp" | "sniffed"; protocol: Protocol; locked: boolean; names: string[] }
  >();
  const [wildcard] = wildcards(view.proxy);
  return {
    add(place: OutboundPlace): void {
      const { bind, port, protocol } = place;
      const id = `${bind}|${port}`;
      const known = entries.get(id);
      if (known?.locked || !(isHttp(protocol) || isSniffed(protocol) || isTcp(protocol))) return;
      const name = isTcp(protocol) ? [] : [outboundRouteName(view, place)];
      const kind = isTcp(protocol) ? "tcp" : isSniffed(protocol) || bind === wildcard ? "sniffed" : "http";
      if (!known || protocol === "HTTP_PROXY" || (isSniffed(protocol) && known.kind === "http")) {
        entries.set(id, { kind, protocol, locked: false, names: name });
        return;
      }
      if (known.kind === "tcp" && !speaksFirst(known.protocol)) known.names.push(...name);
      if (known.kind !== kind) known.kind = "sniffed";
    },
    lock(): void {
      for (const entry of entries.values()) entry.locked = true;
    },
    routeNames: (): readonly string[] => [...new Set([...entries.values()].flatMap(({ names }) => names))].sort(),
  };
}

/** Servers of these protocols speak first: nothing on their port can be sniffed. */
const speaksFirst = (protocol: Protocol): boolean => protocol === "Mongo" || protocol === "MySQL";

/** A port that the Sidecar declares: one listener for all services of the entry. */
function addDeclaredPort(view: View, egress: EgressScope, listeners: Listeners): void {
  const port = egress.listener?.port?.number ?? 0;
  const protocol = parseProtocol(egress.listener?.port?.protocol ?? "");
  if (!mayListen(view, egress, port, protocol)) return;
  for (const key of egress.services) {
    const service = egress.service(key);
    if (!service || service.resolution === "alias") continue;
    for (const bind of binds(view, egress, service, protocol))
      listeners.add({ bind, port, protocol, host: service.host });
  }
}

/** The entry without port takes every port of its services that no entry before it declared. */
function addServicePorts(view: View, egress: EgressScope, listeners: Listeners): void {
  listeners.lock();
  for (const key of egress.services) {
    const service = egress.service(key);
    if (!service || service.resolution === "alias") continue;
    for (const port of service.ports) {
      if (!mayListen(view, egress, port.port, port.protocol)) continue;
      for (const bind of serviceBinds(view, egress, service, port)) {
        listeners.add({ bind, port: port.port, protocol: port.protocol, host: service.host });
      }
    }
  }
}

/** Ports of a headless service that may carry TCP are served at the address of each endpoint but the proxy itself. */
function serviceBinds(view: View, egress: EgressScope, service: Service, port: ServicePort): readonly string[] {
  const usual = binds(view, egress, service, port.protocol);
  const headless = service.resolution === "passthrough" && usual.every(isWildcardAddress);
  if (!headless || egressBind(view, egress) !== undefined || isHttp(port.protocol)) return usual;
  const endpoints = view.mesh.endpoints(service.key, port.name);
  if (endpoints.length === 0 && service.registry === "External" && !service.selector) return usual;
  const others = endpoints
    .map(({ addresses }) => addresses[0] ?? "")
    .filter((address) => address !== view.proxy.ownAddresses[0]);
  return isSniffed(port.protocol) ? others : others.length > 0 ? usual : [];
}

function binds(view: View, egress: EgressScope, service: Service, protocol: Protocol): readonly string[] {
  const bind = egressBind(view, egress);
  if (bind !== undefined) return [bind];
  const [wildcard] = wildcards(view.proxy);
  if (isHttp(protocol)) return [wildcard];
  // Ranges cannot be bound to: the wildcard listener tells them apart by the original destination.
  return servicePlaces(view.proxy, service).map(([address]) => (address.includes("/") ? wildcard : address));
}

/** Undefined: the wildcard for HTTP, the service's own address for the rest. */
function egressBind(view: View, { listener }: EgressScope): string | undefined {
  if (listener?.bind) return listener.bind;
  return bindsToPort(view, listener) ? localhosts(view.proxy)[0] : undefined;
}

function bindsToPort(view: View, listener: EgressScope["listener"]): boolean {
  if (view.proxy.interception === "NONE" || listener?.captureMode === "NONE") return true;
  return listener?.bind?.startsWith(unixPrefix) === true;
}

/** Not below 1024 without the right to; not where the proxy's own listeners are. */
function mayListen(view: View, egress: EgressScope, port: number, protocol: Protocol): boolean {
  if (bindsToPort(view, egress.listener) && !canBind(view.proxy, port)) return false;
  const bind = egressBind(view, egress);
  const onWildcard = bind === undefined ? isHttp(protocol) : bind === wildcards(view.proxy)[0];
  const { proxyListenPort, proxyInboundListenPort } = view.mesh.settings();
  return !(onWildcard && (port === proxyListenPort || port === proxyInboundListenPort));
}
