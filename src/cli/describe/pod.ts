/** A proxy in; the services, encryption and policies that hold for its Pod, each with its object, out. */
import { isRecord, readList, readRecord, readText } from "../../lib/index.ts";
import type { KubeObject, Proxy } from "../../model/index.ts";
import { type DescribeMesh, type ServiceView, viewService } from "./service.ts";

export interface PodView {
  readonly name: string;
  readonly type: "sidecar" | "gateway";
  readonly serviceAccount: string;
  readonly revision: string;
  readonly ports: readonly string[];
  readonly services: readonly ServiceView[];
  readonly mtls: {
    readonly mode: string;
    readonly ports: Readonly<Record<string, string>>;
    readonly from: readonly string[];
  };
  /** `ALLOW AuthorizationPolicy/shop/web`, in the order in which they count. */
  readonly policies: readonly string[];
  /** Whatever else was written for it: RequestAuthentication, Sidecar, Telemetry, EnvoyFilter, … */
  readonly others: readonly string[];
  readonly warnings: readonly string[];
}

export function viewPod(mesh: DescribeMesh, proxy: Proxy, pod: KubeObject | undefined): PodView {
  const { offline } = mesh;
  const own = offline.classOf(proxy);
  const targets = Map.groupBy(own.targets, ({ service }) => service);
  const peer = offline.mesh.peerMtls(own.peerAuthentications);
  const services = [...targets].flatMap(([key, ports]) => {
    const service = offline.mesh.service(key);
    const byName = new Map(ports.map(({ portName, targetPort }) => [portName, targetPort]));
    return service ? [viewService(mesh, service, proxy, proxy.labels, byName)] : [];
  });
  return {
    name: `${proxy.name}.${proxy.namespace}`,
    type: proxy.type === "router" ? "gateway" : "sidecar",
    serviceAccount: proxy.serviceAccount || "default",
    revision: pod?.metadata.labels?.["istio.io/rev"] ?? "default",
    ports: pod ? containerPorts(pod) : [],
    services,
    mtls: {
      mode: peer.mode,
      ports: Object.fromEntries(peer.ports),
      from: peer.policies.map(({ meta }) => `PeerAuthentication/${meta.namespace}/${meta.name}`),
    },
    policies: own.authorizationPolicies.map((key) => {
      const action = offline.mesh.authorizationPolicy(key)?.spec.action ?? "ALLOW";
      return `${String(action)} AuthorizationPolicy/${key}`;
    }),
    others: [
      ...own.requestAuthentications.map((key) => `RequestAuthentication/${key}`),
      ...(own.sidecar === "" ? [] : [`Sidecar/${own.sidecar}`]),
      ...own.gateways.map((key) => `Gateway/${key}`),
      ...own.telemetries.map((key) => `Telemetry/${key}`),
      ...own.extensions,
      ...own.envoyFilters.map((key) => `EnvoyFilter/${key}`),
    ],
    warnings: warningsOf(proxy, services),
  };
}

function containerPorts({ spec }: KubeObject): readonly string[] {
  return readList(readRecord(spec).containers)
    .filter(isRecord)
    .flatMap(({ name, ports }) =>
      readList(ports)
        .filter(isRecord)
        .map((port) => `${Number(port.containerPort)} (${readText(name)})`),
    );
}

function warningsOf({ labels, type }: Proxy, services: readonly ServiceView[]): readonly string[] {
  if (type === "router") return [];
  return [
    ...(services.length === 0 ? ["no Service selects the Pod: nobody reaches it by name"] : []),
    ...(labels.app === undefined && labels["app.kubernetes.io/name"] === undefined
      ? ["the Pod has no label app: telemetry calls it by its Deployment"]
      : []),
  ];
}
