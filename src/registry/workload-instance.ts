/** Pods, WorkloadEntries and inline endpoints in, workloads that a service can select, and its endpoints on them, out. */
import { parseIp } from "../lib/index.ts";
import {
  type Endpoint,
  formatIdentity,
  type Health,
  localityText,
  type Service,
  splitLocality,
  type WorkloadEntrySpec,
} from "../model/index.ts";
import type { Pod } from "./pod.ts";
import type { TargetPort } from "./variant.ts";
import { augmentLabels, localityLabel, type WorkloadFacts } from "./workload.ts";

export interface WorkloadInstance {
  readonly kind: "Pod" | "WorkloadEntry";
  readonly namespace: string;
  readonly name: string;
  readonly addresses: readonly string[];
  readonly facts: WorkloadFacts;
  readonly weight: number;
  readonly health: Health;
  /** Ports by the name that services know them by. */
  readonly ports: ReadonlyMap<string, number>;
  /** A name or a socket path instead of an IP: only a ServiceEntry that resolves by DNS can use it. */
  readonly dnsOnly: boolean;
}

export function podInstance(pod: Pod, facts: WorkloadFacts): WorkloadInstance {
  const ports = new Map<string, number>();
  for (const { name, protocol, port } of pod.ports)
    if (name !== "" && protocol === "TCP" && !ports.has(name)) ports.set(name, port);
  return {
    kind: "Pod",
    namespace: pod.namespace,
    name: pod.name,
    addresses: pod.addresses.slice(0, 1),
    facts,
    weight: 0,
    health: "healthy",
    ports,
    dnsOnly: false,
  };
}

export interface EntryMeta {
  readonly name: string;
  readonly namespace: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Labels of the object itself win over those in its spec. */
export function entryInstance(
  spec: WorkloadEntrySpec,
  meta: EntryMeta,
  context: { readonly cluster: string; readonly trustDomain: string },
): WorkloadInstance {
  const own = { ...spec.labels, ...meta.labels };
  const { address = "", network = "", serviceAccount = "" } = spec;
  const place = spec.locality || localityText(localityLabel(own));
  const locality = splitLocality(place);
  const { cluster, trustDomain } = context;
  return {
    kind: "WorkloadEntry",
    namespace: meta.namespace,
    name: meta.name,
    addresses: [address],
    facts: {
      labels: augmentLabels(own, { cluster, locality, node: "", network }),
      locality,
      place,
      identity: serviceAccount === "" ? "" : formatIdentity({ trustDomain, namespace: meta.namespace, serviceAccount }),
      namespace: meta.namespace,
      workload:
        meta.annotations?.["istio.io/autoRegistrationGroup"] ?? own["service.istio.io/workload-name"] ?? meta.name,
      // A service account says that something with a certificate answers.
      tlsMode: own["security.istio.io/tlsMode"] ?? (serviceAccount === "" ? "disabled" : "istio"),
      network,
      cluster,
      node: "",
      hostname: "",
      subdomain: "",
    },
    weight: spec.weight ?? 0,
    health: "unknown",
    ports: new Map(Object.entries(spec.ports ?? {})),
    dnsOnly: address !== "" && parseIp(address) === undefined,
  };
}

/** Endpoints of a ServiceEntry's ports on a workload: the workload's port of that name, the target port, the port itself. */
export function serviceEntryEndpoints(instance: WorkloadInstance, ports: Service["ports"]): readonly Endpoint[] {
  const isSocket = instance.addresses[0]?.startsWith("unix://") ?? false;
  return ports.map((port) => ({
    ...instance.facts,
    addresses: instance.addresses,
    port: isSocket ? 0 : instance.ports.get(port.name) || port.targetPort || port.port,
    portName: port.name,
    servicePort: port.port,
    ...(port.protocol === "UDP" ? { isUdp: true } : {}),
    weight: instance.weight,
    health: instance.health,
  }));
}

/** Endpoints of a Kubernetes Service's ports on a WorkloadEntry. */
export function kubeServiceEndpoints(
  instance: WorkloadInstance,
  service: Service,
  targets: readonly TargetPort[],
): readonly Endpoint[] {
  return service.ports.flatMap((port) => {
    const target = targets.find((candidate) => candidate.portName === port.name)?.target ?? port.port;
    // A target by number may be renamed by the workload; one by name must be known to it.
    const number =
      typeof target === "number" ? instance.ports.get(port.name) || target || port.port : instance.ports.get(target);
    if (!number) return [];
    const { facts, addresses, weight, health } = instance;
    return [{ ...facts, addresses, port: number, portName: port.name, weight, health }];
  });
}
