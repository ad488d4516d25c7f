/** The `scale` of a workload: the object in, its number of replicas as autoscaling/v1 out; such a Scale in, the object with that number out. */
import { isRecord } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { at, numberAt, recordAt } from "./access.ts";
import { failure } from "./failure.ts";

export const scaleKind = { group: "autoscaling", version: "v1", kind: "Scale" };

export function scaleOf(object: KubeObject): unknown {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  return {
    kind: scaleKind.kind,
    apiVersion: `${scaleKind.group}/${scaleKind.version}`,
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: numberAt(object, "spec", "replicas") ?? 1 },
    status: { replicas: numberAt(object, "status", "replicas") ?? 0, selector: selectorText(object) },
  };
}

/** `before` with the replicas of the Scale, if that is still of the version that it names. */
export function withScale(before: KubeObject, scale: unknown): KubeObject {
  const replicas = isRecord(at(scale, "spec")) ? (numberAt(scale, "spec", "replicas") ?? 0) : undefined;
  if (replicas === undefined || !Number.isInteger(replicas) || replicas < 0)
    throw failure(
      "Invalid",
      `Scale.autoscaling "${before.metadata.name}" is invalid: spec.replicas: Invalid value: must be greater than or equal to 0`,
    );
  const version = at(scale, "metadata", "resourceVersion");
  const metadata =
    typeof version === "string" && version !== "" ? { ...before.metadata, resourceVersion: version } : before.metadata;
  return { ...before, metadata, spec: { ...recordAt(before, "spec"), replicas } };
}

/** `a=b,c in (d,e)`, as a label selector is written in a URL. */
function selectorText(object: KubeObject): string {
  const labels = Object.entries(recordAt(object, "spec", "selector", "matchLabels")).map(
    ([key, value]) => `${key}=${String(value)}`,
  );
  return labels.sort().join(",");
}
