/** A sidecar's scope in; its egress listeners as routes see them, with their services by port, out. */
import type { EgressScope, Scope } from "../../mesh/index.ts";
import { parseProtocol, type Service, type ServicePort } from "../../model/index.ts";
import type { View } from "../view.ts";
import type { DestinationService } from "./destination.ts";

const unixPrefix = "unix://";
/** Names the routes of the mesh-wide HTTP proxy port. */
export const httpProxyRoute = "http_proxy";

export function sidecarScope(view: View): Scope {
  return view.mesh.scope(view.proxy.namespace, view.proxy.labels);
}

export interface RouteName {
  readonly name: string;
  /** 0 for Unix sockets and the HTTP proxy. */
  readonly port: number;
  /** For a sniffed port the one host that it belongs to: its listener is the service's own. */
  readonly host: string | undefined;
}

/** `80`, `host:80`, `unix:///path`, `http_proxy`; undefined for what no listener refers to. */
export function parseRouteName(name: string): RouteName | undefined {
  if (name.startsWith(unixPrefix) || name === httpProxyRoute) return { name, port: 0, host: undefined };
  const at = name.lastIndexOf(":");
  const digits = name.slice(at + 1);
  if (!/^\d{1,5}$/.test(digits)) return undefined;
  return { name, port: Number(digits), host: at < 0 ? undefined : name.slice(0, at) };
}

/** Where a route name's hosts come from. */
export interface EgressPlace {
  readonly index: number;
  /** The port whose services take part; 0 for those of all ports. */
  readonly port: number;
}

/** The first listener of that port or socket, or the one without port, which takes the rest. */
export function egressPlace(scope: Scope, { name, port }: RouteName): EgressPlace | undefined {
  const index = scope.egress.findIndex(({ listener }) => {
    if (!listener?.port) return true;
    if ((listener.port.number ?? 0) !== port) return false;
    return port !== 0 || listener.bind === name;
  });
  if (index < 0) return undefined;
  const protocol = parseProtocol(scope.egress[index]?.listener?.port?.protocol ?? "");
  return { index, port: protocol === "HTTP_PROXY" ? 0 : port };
}

export function egressScope(view: View, { index }: EgressPlace): EgressScope | undefined {
  return sidecarScope(view).egress[index];
}

/** Keys by lower-case host of the services that have the place's port. */
export function egressServices(view: View, place: EgressPlace): ReadonlyMap<string, string> {
  return portTable(view, place.index).get(place.port) ?? new Map();
}

/** One host alone: its readers are left alone when other services come and go. */
export function egressDestination(view: View, place: EgressPlace, host: string): DestinationService | undefined {
  return view.shared(`route.destination|${place.index}|${place.port}|${host}`, () => {
    const key = egressServices(view, place).get(host);
    const service = key === undefined ? undefined : egressScope(view, place)?.service(key);
    return service && { externalName: service.externalName, ports: portsAt(place, service) };
  });
}

/** The ports of a service that count at the place. */
export function portsAt(place: EgressPlace, { ports }: Service): readonly ServicePort[] {
  return place.port === 0
    ? ports
    : ports.filter(({ port, protocol }) => port === place.port && protocol !== "UDP").slice(0, 1);
}

/** Made once per listener, so that each port's routes look only at the services of that port. */
function portTable(view: View, index: number): ReadonlyMap<number, ReadonlyMap<string, string>> {
  return view.shared(`route.services|${index}`, () => {
    const egress = sidecarScope(view).egress[index];
    const table = new Map<number, Map<string, string>>([[0, new Map()]]);
    const add = (port: number, host: string, key: string): void => {
      const hosts = table.get(port) ?? new Map<string, string>();
      hosts.set(host, key);
      table.set(port, hosts);
    };
    for (const key of egress?.services ?? []) {
      const service = egress?.service(key);
      if (!service) continue;
      const host = service.host.toLowerCase();
      add(0, host, key);
      for (const { port, protocol } of service.ports) if (protocol !== "UDP") add(port, host, key);
    }
    return table;
  });
}
