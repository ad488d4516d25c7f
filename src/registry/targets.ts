/** A pod and the Services that select it in, the ports it serves for them out. */
import { readList, readNumber, readRecord, readText } from "../lib/index.ts";
import type { KubeObject, Protocol, Service, ServicePort, ServiceTarget } from "../model/index.ts";
import type { Pod } from "./pod.ts";
import type { ServiceVariant, Slice, TargetPort } from "./variant.ts";

export function targetPorts(object: KubeObject): readonly TargetPort[] {
  return readList(readRecord(object.spec).ports)
    .map(readRecord)
    .map((port) => ({
      portName: readText(port.name),
      transport: readText(port.protocol) || "TCP",
      // The API server fills in the port itself where no target is written.
      target: readNumber(port.targetPort) ?? (readText(port.targetPort) || (readNumber(port.port) ?? 0)),
    }));
}

/** One target per port and protocol of the workload, in the order of the Service's ports. */
export function targetsOfPod(pod: Pick<Pod, "ports">, variants: readonly ServiceVariant[]): readonly ServiceTarget[] {
  return variants.flatMap(({ service, targets }) => {
    const seen = new Set<string>();
    const out: ServiceTarget[] = [];
    for (const target of targets) {
      const port = service.ports.find((candidate) => candidate.name === target.portName);
      const number = portOn(pod, target);
      if (!port || number === undefined || seen.has(portId(number, port.protocol))) continue;
      seen.add(portId(number, port.protocol));
      out.push(serviceTarget(service.key, port, number));
    }
    return out;
  });
}

export function serviceTarget(service: string, { name, port }: ServicePort, targetPort: number): ServiceTarget {
  return { service, portName: name, port, targetPort };
}

const portId = (port: number, protocol: Protocol): string => `${port}/${protocol}`;

function portOn(pod: Pick<Pod, "ports">, { target, transport }: TargetPort): number | undefined {
  if (typeof target === "number") return target;
  return pod.ports.find((port) => port.name === target && port.protocol === transport)?.port;
}

/** Services without a selector whose endpoints name the pod's address. */
export function targetsOfSlices(
  slices: readonly Slice[],
  address: string,
  serviceOf: (key: string) => Service | undefined,
): readonly ServiceTarget[] {
  return slices.flatMap((slice) => {
    const service = serviceOf(slice.service);
    return slice.endpoints
      .filter((endpoint) => endpoint.addresses[0] === address)
      .flatMap((endpoint) => {
        const port = service?.ports.find((candidate) => candidate.name === endpoint.portName);
        return service && port ? [serviceTarget(service.key, port, endpoint.port)] : [];
      });
  });
}
