/** A proxy's own services and its Sidecar in; what stands behind each of its inbound clusters out. */
import {
  type IstioIngressListener,
  type Protocol,
  parseProtocol,
  type ServerFacet,
  type Service,
  type ServicePort,
} from "../../model/index.ts";
import { serverFacet } from "../facets.ts";
import { localhosts } from "../proxy/addresses.ts";
import { type ServedPort, servedPorts } from "../proxy/served-ports.ts";
import { recipe } from "../recipe.ts";
import type { View } from "../view.ts";

export interface InboundTarget {
  /** The number in the cluster's name: the workload's port, or that of the Sidecar's listener. */
  readonly port: number;
  /** Name, number and protocol as the first service (or the listener) has them. */
  readonly servicePort: ServicePort;
  /** The oldest service behind the port, or one that stands for the Sidecar. */
  readonly service: InboundService;
  /** All services whose port of that number leads here: for telemetry. */
  readonly services: readonly InboundService[];
  /** Where the connection goes on; undefined for its original destination. */
  readonly endpoint: { readonly host: string; readonly port: number } | undefined;
  /** A listener of the Sidecar without a service: nothing is known of it. */
  readonly unknown: boolean;
}

type InboundService = Pick<Service, "host" | "name" | "namespace" | "registry">;

/** A Sidecar with ingress listeners replaces what the services say. */
export const inboundTargets = recipe(serverFacet, "inbound targets", (view): readonly InboundTarget[] => {
  const ingress = view.mesh.sidecar(view.proxy.sidecar)?.spec.ingress ?? [];
  if (ingress.length > 0) {
    const served = servedPorts(view);
    return ingress.flatMap((listener) => listenerTarget(view, listener, served) ?? []);
  }
  // Without capture, listeners on the services' ports would take them from the workload.
  return view.proxy.interception === "NONE" ? [] : servedTargets(view);
});

function servedTargets(view: View<ServerFacet>): readonly InboundTarget[] {
  const { mesh, proxy } = view;
  const passthrough = (mesh.settings().inboundTrafficPolicy?.mode ?? "PASSTHROUGH") === "PASSTHROUGH";
  return [...Map.groupBy(servedPorts(view), ({ targetPort }) => targetPort)].flatMap(([port, entries]) => {
    const [first] = entries;
    if (!first) return [];
    const { service, servicePort } = first;
    const services = entries
      .filter((entry) => entry.servicePort.port === servicePort.port)
      .map((entry) => entry.service);
    const endpoint = passthrough ? undefined : { host: localhosts(proxy)[0], port };
    return [{ port, servicePort, service, services: unique(services), endpoint, unknown: service.meshExternal }];
  });
}

/** Of several objects with one host the first. */
function unique(services: readonly Service[]): readonly Service[] {
  return services.filter(({ host }, i) => services.findIndex((other) => other.host === host) === i);
}

function listenerTarget(
  view: View<ServerFacet>,
  listener: IstioIngressListener,
  served: readonly ServedPort[],
): InboundTarget | undefined {
  const number = listener.port?.number ?? 0;
  const endpoint = defaultEndpoint(view, listener.defaultEndpoint ?? "");
  if (endpoint === "invalid" || number > 65535) return undefined;
  const real = served.find(({ targetPort }) => targetPort === number)?.service;
  const service = real ?? sidecarService(view);
  return {
    port: number,
    servicePort: { name: listener.port?.name ?? "", port: number, protocol: listenerProtocol(listener) },
    service,
    services: [service],
    endpoint,
    unknown: real === undefined || real.meshExternal,
  };
}

function listenerProtocol(listener: IstioIngressListener): Protocol {
  return parseProtocol(listener.port?.protocol ?? "");
}

/** Stands in statistics for a listener that no service leads to; in the proxy's namespace, wherever the Sidecar is. */
function sidecarService(view: View<ServerFacet>): InboundService {
  const name = view.mesh.sidecar(view.proxy.sidecar)?.meta.name ?? "";
  const { namespace } = view.proxy;
  return { host: `${name}.${namespace}`, name, namespace, registry: "External" };
}

/** `127.0.0.1:p` and `[::1]:p` go to the workload beside, `0.0.0.0:p` and `[::]:p` to its own address, `unix://` to a socket. */
function defaultEndpoint(view: View<ServerFacet>, text: string): InboundTarget["endpoint"] | "invalid" {
  if (text === "") return undefined;
  if (text.startsWith("unix://")) return { host: text, port: 0 };
  const match = /^(?:\[([^\]]*)\]|([^:]*)):(\d+)$/.exec(text);
  if (!match) return "invalid";
  const host = endpointHost(view, match[1] ?? match[2] ?? "");
  const port = Number(match[3]);
  if (port > 65535) return "invalid";
  return host === undefined ? undefined : { host, port };
}

/** The family that was written is a wish: where the proxy has only the other, that one is taken. */
function endpointHost({ proxy }: View<ServerFacet>, host: string): string | undefined {
  const own = (v6: boolean): string | undefined => proxy.ownAddresses.find((address) => address.includes(":") === v6);
  const local = (v6: boolean): string =>
    localhosts(proxy).find((it) => it.includes(":") === v6) ?? localhosts(proxy)[0];
  switch (host) {
    case "0.0.0.0":
      return own(false) ?? "127.0.0.1";
    case "::":
      return own(true) ?? "::1";
    case "127.0.0.1":
      return local(false);
    case "::1":
      return local(true);
    default:
      return undefined;
  }
}
