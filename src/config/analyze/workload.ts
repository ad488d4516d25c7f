/** Which workloads are in the mesh: containers, labels and namespaces in, yes or no out. */
import { readList, readRecord, readText } from "../../lib/index.ts";
import type { AnalysedObject, AnalysedObjects } from "./objects.ts";

type Record_ = Readonly<Record<string, unknown>>;

export const containersOf = (podSpec: Record_): readonly Record_[] =>
  [...readList(podSpec.containers), ...readList(podSpec.initContainers)].map(readRecord);

/** The image of the proxy's container; empty where there is none. */
export function proxyImage(podSpec: Record_): string {
  return readText(containersOf(podSpec).find((container) => container.name === "istio-proxy")?.image);
}

/** Has a sidecar, or will get one. */
export function inMesh(
  objects: AnalysedObjects,
  workload: {
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
    readonly spec: Record_;
  },
): boolean {
  if (proxyImage(workload.spec) !== "") return true;
  const own = workload.labels["sidecar.istio.io/inject"] ?? workload.annotations["sidecar.istio.io/inject"];
  if (own !== undefined) return own === "true";
  const namespace = objects.kube("Namespace").find(({ meta }) => meta.name === workload.namespace);
  return namespace?.meta.labels["istio-injection"] === "enabled";
}

export const isAmbientPod = ({ meta }: AnalysedObject): boolean =>
  meta.annotations["ambient.istio.io/redirection"] === "enabled";

/** A sidecar label wins over the ambient one. */
export function isAmbientNamespace(namespace: AnalysedObject | undefined): boolean {
  const labels = namespace?.meta.labels ?? {};
  if (labels["istio-injection"] === "enabled" || labels["istio.io/rev"]) return false;
  return labels["istio.io/dataplane-mode"] === "ambient";
}

/** Part of Istio itself. */
export const isControlPlane = ({ meta }: AnalysedObject): boolean =>
  Object.hasOwn(meta.labels, "istio") || meta.labels.release === "istio";
