/** A sidecar's scope in; its egress listeners as routes see them, with their services by port, out. */
import type { EgressScope, Scope } from "../../mesh/index.ts";
import {
  type BuildFacet,
  type ClientFacet,
  parseProtocol,
  portByNumber,
  type Service,
  type ServicePort,
} from "../../model/index.ts";
import { buildFacet, clientFacet } from "../facets.ts";
import type { Steps } from "../layer.ts";
import { clientScope } from "../outbound/client-scope.ts";
import { memberRecipe, recipe } from "../recipe.ts";
import type { View } from "../view.ts";

const unixPrefix = "unix://";
/** Names the routes of the mesh-wide HTTP proxy port. */
export const httpProxyRoute = "http_proxy";

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

/** Routes with the same word are for the same services. */
export const placeWord = ({ name, port }: RouteName): string => (port === 0 ? name : String(port));

/** Where a route name's hosts come from. */
export interface EgressPlace {
  readonly index: number;
  /** The port whose services take part; 0 for those of all ports. */
  readonly port: number;
}

/** The first listener of that port or socket, or the one without port, which takes the rest. */
export function egressPlace(scope: Scope, word: string): EgressPlace | undefined {
  const port = /^\d+$/.test(word) ? Number(word) : 0;
  const index = scope.egress.findIndex(({ listener }) => {
    if (!listener?.port) return true;
    if ((listener.port.number ?? 0) !== port) return false;
    return port !== 0 || listener.bind === word;
  });
  if (index < 0) return undefined;
  const protocol = parseProtocol(scope.egress[index]?.listener?.port?.protocol ?? "");
  return { index, port: protocol === "HTTP_PROXY" ? 0 : port };
}

/** The ports of a service that count at the place. */
export function portsAt(place: EgressPlace, { ports }: Service): readonly ServicePort[] {
  if (place.port === 0) return ports;
  const port = portByNumber(ports, place.port);
  return port ? [port] : [];
}

/** The services at a place: keys by lower-case host. Who asks for one host depends on that one alone, where everybody sees the same. */
export interface PlaceServices {
  get(host: string): string | undefined;
  entries(): Iterable<readonly [host: string, key: string]>;
}

/** By port, 0 for all: keys of services by their lower-case host. Made once per listener, so that each port's routes look only at the services of that port. */
type PortTable = ReadonlyMap<number, ReadonlyMap<string, string>>;

interface PlacedService {
  readonly host: string;
  readonly ports: readonly number[];
}

const publicPorts = memberRecipe<BuildFacet, PlacedService, PortTable>(buildFacet, "public services by port", {
  list: (view) => publicEgress(view)?.services ?? [],
  each: (view, key) => placedService(publicEgress(view)?.table.service(key)),
  whole: portTable,
});

/** Makes the tables of all ports service by service. */
export const publicPortSteps = (view: View<BuildFacet>): Steps => publicPorts.steps(view);

const publicEgress = ({ mesh, proxy }: View<BuildFacet>): EgressScope | undefined =>
  mesh.publicScope(proxy.type).egress[0];

export function publicServicesAt(view: View<BuildFacet>, port: number): PlaceServices {
  return {
    get: (host) =>
      view.mesh.publicServicesNamed(host).findLast((key) => {
        const placed = placedService(view.mesh.service(key));
        return placed && (port === 0 || placed.ports.includes(port));
      }),
    entries: () => publicPorts(view).get(port)?.entries() ?? [],
  };
}

const clientPorts = recipe(clientFacet, "services by port", (view, index): PortTable => {
  const egress = clientScope(view).egress[Number(index)];
  const services = new Map<string, PlacedService>();
  for (const key of egress?.services ?? []) {
    const placed = placedService(egress?.table.service(key));
    if (placed) services.set(key, placed);
  }
  return portTable(services);
});

export function clientServicesAt(view: View<ClientFacet>, { index, port }: EgressPlace): PlaceServices {
  const services: ReadonlyMap<string, string> = clientPorts(view, String(index)).get(port) ?? new Map<string, string>();
  return { get: (host) => services.get(host), entries: () => services.entries() };
}

function placedService(service: Service | undefined): PlacedService | undefined {
  if (!service) return undefined;
  const ports = service.ports.filter(({ protocol }) => protocol !== "UDP").map(({ port }) => port);
  return { host: service.host.toLowerCase(), ports };
}

/** Services by key in. */
function portTable(services: ReadonlyMap<string, PlacedService>): PortTable {
  const table = new Map<number, Map<string, string>>([[0, new Map()]]);
  for (const [key, { host, ports }] of services) {
    for (const port of [0, ...ports]) {
      const hosts = table.get(port) ?? new Map<string, string>();
      hosts.set(host, key);
      table.set(port, hosts);
    }
  }
  return table;
}
