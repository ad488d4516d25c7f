/** A Kubernetes Pod in, what the mesh needs to know of it out; heartbeats and other edits die here. */
import { readList, readNumber, readRecord, readText, readTexts } from "../lib/index.ts";
import { type KubeObject, type ObjectMeta, podOwner } from "../model/index.ts";

interface ContainerPort {
  readonly name: string;
  readonly protocol: string;
  readonly port: number;
}

export interface Pod {
  readonly name: string;
  readonly namespace: string;
  readonly creationTimestamp: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** `status.podIPs`, else `status.podIP`; empty before the pod has one. */
  readonly addresses: readonly string[];
  readonly node: string;
  readonly serviceAccount: string;
  /** The workload's name, derived from owner and labels. */
  readonly workload: string;
  readonly hostname: string;
  readonly subdomain: string;
  /** Ports of containers that run as long as the pod: app containers, then native sidecars. */
  readonly ports: readonly ContainerPort[];
  /** Running, ready, and not about to go: may serve a ServiceEntry that selects it. */
  readonly usable: boolean;
  /** Args of the container `istio-proxy`; undefined where there is none. */
  readonly proxyArgs: readonly string[] | undefined;
}

export function readPod(object: KubeObject): Pod {
  const spec = readRecord(object.spec);
  const status = readRecord(object.status);
  const labels = object.metadata.labels ?? {};
  const name = object.metadata.name;
  const addresses = podAddresses(status);
  const subdomain = readText(spec.subdomain);
  const proxy = proxyContainer(spec);
  return {
    name,
    namespace: object.metadata.namespace ?? "default",
    creationTimestamp: object.metadata.creationTimestamp ?? "",
    labels,
    annotations: object.metadata.annotations ?? {},
    addresses,
    node: readText(spec.nodeName),
    serviceAccount: readText(spec.serviceAccountName),
    workload: labels["service.istio.io/workload-name"] ?? podOwner(readRecord(object.metadata))?.name ?? name,
    hostname: subdomain === "" ? "" : readText(spec.hostname) || name,
    subdomain,
    ports: lastingContainers(spec).flatMap(containerPorts),
    usable: isUsable(object.metadata, status) && addresses.length > 0,
    proxyArgs: proxy && readTexts(proxy.args),
  };
}

function podAddresses(status: Readonly<Record<string, unknown>>): readonly string[] {
  const all = readList(status.podIPs)
    .map((item) => readText(readRecord(item).ip))
    .filter((ip) => ip !== "");
  if (all.length > 0) return all;
  const one = readText(status.podIP);
  return one === "" ? [] : [one];
}

function isUsable(meta: ObjectMeta, status: Readonly<Record<string, unknown>>): boolean {
  const phase = readText(status.phase);
  if (phase === "Failed" || phase === "Succeeded" || meta.deletionTimestamp !== undefined) return false;
  return readList(status.conditions).some((item) => {
    const condition = readRecord(item);
    return condition.type === "Ready" && condition.status === "True";
  });
}

/** Containers that stay: the app's, and init containers with restartPolicy Always (native sidecars). */
function lastingContainers(spec: Readonly<Record<string, unknown>>): readonly Readonly<Record<string, unknown>>[] {
  const init = readList(spec.initContainers).map(readRecord);
  return [...readList(spec.containers).map(readRecord), ...init.filter((c) => c.restartPolicy === "Always")];
}

function containerPorts(container: Readonly<Record<string, unknown>>): readonly ContainerPort[] {
  return readList(container.ports)
    .map(readRecord)
    .map((port) => ({
      name: readText(port.name),
      protocol: readText(port.protocol) || "TCP",
      port: readNumber(port.containerPort) ?? 0,
    }));
}

function proxyContainer(spec: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined {
  const all = [...readList(spec.containers), ...readList(spec.initContainers)].map(readRecord);
  return all.find((container) => container.name === "istio-proxy");
}
