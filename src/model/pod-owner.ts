/** A Pod's metadata in; the object that made it out, as people know it: the Deployment, not its ReplicaSet. */
import { isRecord, readList, readText, readTextMap } from "../lib/index.ts";

export interface PodOwner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
}

/** Nothing where the Pod stands for itself: only one whose name was generated was made by somebody else. */
export function podOwner(metadata: Readonly<Record<string, unknown>>): PodOwner | undefined {
  if (readText(metadata.generateName) === "") return undefined;
  const controller = controllerAmong(metadata.ownerReferences);
  return controller && behind(controller, readTextMap(metadata.labels));
}

function controllerAmong(references: unknown): PodOwner | undefined {
  const found = readList(references)
    .filter(isRecord)
    .find(({ controller }) => controller === true);
  return found && { apiVersion: readText(found.apiVersion), kind: readText(found.kind), name: readText(found.name) };
}

/** ReplicaSets and Jobs bear the name of what made them, with an end of their own; Istio goes by the names too. */
function behind(controller: PodOwner, labels: Readonly<Record<string, string>>): PodOwner {
  const { apiVersion, kind, name } = controller;
  const without = (hash: string | undefined): string | undefined =>
    hash && name.endsWith(hash) ? name.slice(0, name.endsWith(`-${hash}`) ? -hash.length - 1 : undefined) : undefined;
  if (kind === "ReplicaSet") {
    const deployment = without(labels["pod-template-hash"]);
    if (deployment !== undefined) return { apiVersion, kind: "Deployment", name: deployment };
    const rollout = without(labels["rollouts-pod-template-hash"]);
    if (rollout !== undefined) return { apiVersion: "v1alpha1", kind: "Rollout", name: rollout };
  }
  const config = labels.deploymentconfig;
  if (kind === "ReplicationController" && config) return { apiVersion, kind: "DeploymentConfig", name: config };
  const cron = kind === "Job" ? /^(.+)-\d{8,10}$/.exec(name)?.[1] : undefined;
  return cron === undefined ? controller : { apiVersion: "batch/v1", kind: "CronJob", name: cron };
}
