/** Services and EndpointSlices in; the addresses that kube-dns would give for a name out. */
import type { Collection } from "../collections/index.ts";
import { isRecord } from "../lib/index.ts";
import { type KubeObject, objectKey } from "../model/index.ts";
import type { Lookup } from "./dns.ts";
import { readService } from "./service-shape.ts";

export function createClusterNames(
  domain: string,
  services: Collection<KubeObject>,
  slices: Collection<KubeObject>,
): Lookup {
  return (name) => {
    const suffix = `.svc.${domain}`;
    if (!name.endsWith(suffix)) return undefined;
    const labels = name.slice(0, -suffix.length).split(".");
    const [service = "", namespace = ""] = labels.slice(-2);
    const host = labels.length === 3 ? labels[0] : undefined;
    if (labels.length < 2 || labels.length > 3) return undefined;
    const object = services.get(objectKey({ namespace, name: service }));
    if (!object) return undefined;
    const { clusterIP } = readService(object);
    if (host === undefined && clusterIP !== "" && clusterIP !== "None") return [clusterIP];
    const addresses = endpointAddresses(slices, namespace, service, host);
    return addresses.length > 0 || host === undefined ? addresses : undefined;
  };
}

function endpointAddresses(
  slices: Collection<KubeObject>,
  namespace: string,
  service: string,
  host: string | undefined,
): readonly string[] {
  const found = new Set<string>();
  for (const key of slices.keys()) {
    const slice = slices.get(key);
    if (slice?.metadata.namespace !== namespace || slice.metadata.labels?.["kubernetes.io/service-name"] !== service)
      continue;
    for (const endpoint of Array.isArray(slice.endpoints) ? slice.endpoints.filter(isRecord) : []) {
      const conditions = isRecord(endpoint.conditions) ? endpoint.conditions : {};
      if (conditions.ready === false || (host !== undefined && endpoint.hostname !== host)) continue;
      for (const address of Array.isArray(endpoint.addresses) ? endpoint.addresses : [])
        if (typeof address === "string") found.add(address);
    }
  }
  return [...found].sort();
}
