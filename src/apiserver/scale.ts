/** The `scale` of a workload: the object in, its number of replicas as autoscaling/v1 out; such a Scale in, the object with that number out. */
import { isRecord } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { at, numberAt, recordAt } from "./access.ts";
import { failure } from "./failure.ts";
import type { ApiKind, ScalePaths } from "./kind.ts";

export const scaleKind = { group: "autoscaling", version: "v1", kind: "Scale" };

/** Where Kubernetes' own workloads have their numbers. */
const ownPaths: ScalePaths = { wanted: ["spec", "replicas"], current: ["status", "replicas"], selector: undefined };

export function scaleOf(kind: ApiKind, object: KubeObject): unknown {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const paths = kind.scale ?? ownPaths;
  const replicas = numberAt(object, ...paths.wanted) ?? (kind.scale ? undefined : 1);
  if (replicas === undefined)
    throw failure(
      "InternalError",
      `Internal error occurred: the spec replicas field ".${paths.wanted.join(".")}" does not exist`,
    );
  const selector = kind.scale ? at(object, ...(paths.selector ?? [""])) : selectorText(object);
  return {
    kind: scaleKind.kind,
    apiVersion: `${scaleKind.group}/${scaleKind.version}`,
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas },
    status: {
      replicas: numberAt(object, ...paths.current) ?? 0,
      ...(typeof selector === "string" ? { selector } : {}),
    },
  };
}

/** `before` with the replicas of the Scale, if that is still of the version that it names. */
export function withScale(kind: ApiKind, before: KubeObject, scale: unknown): KubeObject {
  const replicas = isRecord(at(scale, "spec")) ? (numberAt(scale, "spec", "replicas") ?? 0) : undefined;
  if (replicas === undefined || !Number.isInteger(replicas) || replicas < 0)
    throw failure(
      "Invalid",
      `Scale.autoscaling "${before.metadata.name}" is invalid: spec.replicas: Invalid value: must be greater than or equal to 0`,
    );
  const version = at(scale, "metadata", "resourceVersion");
  const metadata =
    typeof version === "string" && version !== "" ? { ...before.metadata, resourceVersion: version } : before.metadata;
  return { ...(setAt(before, (kind.scale ?? ownPaths).wanted, replicas) as KubeObject), metadata };
}

function setAt(value: unknown, [name, ...rest]: readonly string[], last: number): unknown {
  return name === undefined ? last : { ...recordAt(value), [name]: setAt(at(value, name), rest, last) };
}

/** `a=b,c in (d,e)`, as a label selector is written in a URL. */
function selectorText(object: KubeObject): string {
  const labels = Object.entries(recordAt(object, "spec", "selector", "matchLabels")).map(
    ([key, value]) => `${key}=${String(value)}`,
  );
  return labels.sort().join(",");
}
