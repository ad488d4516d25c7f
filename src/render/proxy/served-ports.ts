/** A proxy's own services in; which of their ports lead to its workload, and to which of its ports, out. */
import type { ServerFacet, Service, ServicePort } from "../../model/index.ts";
import type { View } from "../view.ts";

export interface ServedPort {
  readonly service: Service;
  readonly servicePort: ServicePort;
  /** Where the workload listens. */
  readonly targetPort: number;
}

/**
 * Oldest service first, ports for UDP last of all: where several lead to one port the first says what is spoken there.
 * istiod takes UDP in its turn, and then looks for no tokens in what is declared as HTTP beside it.
 */
export function servedPorts({ mesh, proxy }: View<ServerFacet>): readonly ServedPort[] {
  const ports = new Map<Service, ReadonlyMap<string, ServicePort>>();
  const portOf = (service: Service, name: string): ServicePort | undefined => {
    // A service may have thousands, of which the first with a name counts.
    const known = ports.get(service) ?? new Map(service.ports.map((port) => [port.name, port] as const).reverse());
    ports.set(service, known);
    return known.get(name);
  };
  const all = proxy.targets.flatMap(({ service: key, portName, targetPort }): readonly ServedPort[] => {
    const service = mesh.service(key);
    const servicePort = service && portOf(service, portName);
    return service && servicePort ? [{ service, servicePort, targetPort }] : [];
  });
  return [...all.filter((port) => !isUdp(port)), ...all.filter(isUdp)];
}

export const isUdp = ({ servicePort }: Pick<ServedPort, "servicePort">): boolean => servicePort.protocol === "UDP";
