/** The parts of Services and Pods that the controllers read, decoded leniently: what is malformed counts as absent. */
import { isRecord } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";

export interface ServicePortShape {
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
  readonly appProtocol: string | undefined;
  readonly targetPort: number | string;
}

export interface ServiceShape {
  readonly type: string;
  readonly clusterIP: string;
  readonly selector: ReadonlyMap<string, string> | undefined;
  readonly ports: readonly ServicePortShape[];
  readonly publishNotReady: boolean;
}

export interface PodShape {
  readonly address: string;
  readonly ready: boolean;
  readonly ended: boolean;
  readonly node: string;
  readonly hostname: string;
  readonly subdomain: string;
  readonly ports: ReadonlyMap<string, number>;
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const list = (value: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(value) ? value.filter(isRecord) : [];
const record = (value: unknown): Readonly<Record<string, unknown>> => (isRecord(value) ? value : {});

export function readService(object: KubeObject): ServiceShape {
  const spec = record(object.spec);
  const selector = Object.entries(record(spec.selector)).map(([key, value]) => [key, text(value)] as const);
  return {
    type: text(spec.type) || "ClusterIP",
    clusterIP: text(spec.clusterIP),
    selector: selector.length > 0 ? new Map(selector) : undefined,
    ports: list(spec.ports).map((port) => ({
      name: text(port.name),
      port: Number(port.port),
      protocol: text(port.protocol) || "TCP",
      appProtocol: text(port.appProtocol) || undefined,
      targetPort: typeof port.targetPort === "string" ? port.targetPort : Number(port.targetPort ?? port.port),
    })),
    publishNotReady: spec.publishNotReadyAddresses === true,
  };
}

export function readPodShape(object: KubeObject): PodShape {
  const spec = record(object.spec);
  const status = record(object.status);
  const phase = text(status.phase);
  const ports = list(spec.containers).flatMap((container) =>
    list(container.ports).map((port) => [text(port.name), Number(port.containerPort)] as const),
  );
  return {
    address: text(status.podIP),
    ready: list(status.conditions).some((condition) => condition.type === "Ready" && condition.status === "True"),
    ended: phase === "Succeeded" || phase === "Failed",
    node: text(spec.nodeName),
    hostname: text(spec.hostname),
    subdomain: text(spec.subdomain),
    ports: new Map(ports.filter(([name]) => name !== "")),
  };
}

export function selects(
  selector: ReadonlyMap<string, string>,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  for (const [key, value] of selector) if (labels?.[key] !== value) return false;
  return true;
}
