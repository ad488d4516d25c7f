/** MeshConfig's pattern for statistics of clusters in, the name for one service port out. */
import type { Service } from "../../model/index.ts";

export interface StatSource {
  readonly service: Pick<Service, "host" | "name" | "namespace" | "registry">;
  readonly subset: string;
  readonly port: number;
  readonly portName: string;
  readonly targetPort: number;
}

/** Only Kubernetes services have a short name; others go by their host. */
export function statName(pattern: string, { service, subset, port, portName, targetPort }: StatSource): string {
  const known = service.registry === "Kubernetes";
  const words: readonly (readonly [string, string])[] = [
    ["%SERVICE%", known ? `${service.name}.${service.namespace}` : service.host],
    ["%SERVICE_NAME%", known ? service.name : service.host],
    ["%SERVICE_FQDN%", service.host],
    ["%SUBSET_NAME%", subset],
    ["%TARGET_PORT%", String(targetPort)],
    ["%SERVICE_PORT%", String(port)],
    ["%SERVICE_PORT_NAME%", portName],
  ];
  return words.reduce((text, [word, value]) => text.replaceAll(word, value), pattern);
}

/** Istio ends the names with this, so that its tags can be cut out of Envoy's statistics. */
export function delimited(name: string): string {
  return `${name};`;
}
