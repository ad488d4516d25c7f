/** The kinds that hold a Pod: for each its type and where the Pod's metadata and spec are. */
import { isRecord } from "../../lib/index.ts";
import { deploymentConfigType, replicationControllerType } from "./other-types.ts";
import { kubeType, type ObjectType } from "./types.ts";

export interface WorkloadType {
  readonly type: () => ObjectType;
  /** Path to the object that has the Pod's `metadata`; for a CronJob that is the Job's, as istioctl has it. */
  readonly metadata: readonly string[];
  /** Path to the object that has the Pod's `spec`. */
  readonly spec: readonly string[];
}

const template = ["spec", "template"];

const workload = (name: string): WorkloadType => ({
  type: () => kubeType(`io.k8s.api.${name}`),
  metadata: template,
  spec: template,
});

const workloads: ReadonlyMap<string, WorkloadType> = new Map([
  ["Pod", { ...workload("core.v1.Pod"), metadata: [], spec: [] }],
  ["ReplicationController", { type: replicationControllerType, metadata: template, spec: template }],
  ["Deployment", workload("apps.v1.Deployment")],
  ["DaemonSet", workload("apps.v1.DaemonSet")],
  ["ReplicaSet", workload("apps.v1.ReplicaSet")],
  ["StatefulSet", workload("apps.v1.StatefulSet")],
  ["Job", workload("batch.v1.Job")],
  [
    "CronJob",
    {
      ...workload("batch.v1.CronJob"),
      metadata: ["spec", "jobTemplate"],
      spec: ["spec", "jobTemplate", "spec", "template"],
    },
  ],
  ["DeploymentConfig", { type: deploymentConfigType, metadata: template, spec: template }],
]);

/** Groups that the kinds are or once were in: the version says nothing, and of other groups' kinds nothing is known. */
const groups: ReadonlySet<string> = new Set(["", "apps", "batch", "extensions", "apps.openshift.io"]);

export function workloadType(object: unknown): WorkloadType | undefined {
  if (!isRecord(object) || typeof object.apiVersion !== "string" || typeof object.kind !== "string") return undefined;
  const slash = object.apiVersion.indexOf("/");
  return groups.has(object.apiVersion.slice(0, Math.max(slash, 0))) ? workloads.get(object.kind) : undefined;
}

export const podType = (): ObjectType => kubeType("io.k8s.api.core.v1.Pod");
