/** A workload in; the Service by which others reach it, made or looked for, out. */
import { type KubeClient, kubeKinds } from "../../kube/index.ts";
import { readRecord } from "../../lib/index.ts";
import type { WorkloadSpec } from "../../standalone/index.ts";
import { applyObject } from "../objects.ts";

type Reached = Pick<WorkloadSpec, "namespace" | "labels" | "ports">;

/** Named ports, because Istio reads the protocol from names: with one that says nothing it is found out by looking. */
export async function exposeWorkload(client: KubeClient, name: string, spec: Reached): Promise<void> {
  await applyObject(client, {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: spec.namespace },
    spec: {
      selector: spec.labels,
      ports: spec.ports.map((port) => ({ name: `port-${port}`, port, targetPort: port, protocol: "TCP" })),
    },
  });
}

/** The name of a Service that selects the workload. */
export async function serviceOf(client: KubeClient, spec: Reached): Promise<string | undefined> {
  const { items } = await client.list(kubeKinds.services, { namespace: spec.namespace });
  const found = items.find((service) => {
    const selector = Object.entries(readRecord(readRecord(service.spec).selector));
    return selector.length > 0 && selector.every(([key, value]) => spec.labels[key] === value);
  });
  return found?.metadata.name;
}
