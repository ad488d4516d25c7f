/** A Pod in; the object that people know it by out: its controller, and where names tell, the controller's own. */
import { isRecord, readList, readText } from "../lib/index.ts";
import { labelsOf, metadataOf, type Pod } from "./pod.ts";
import type { Owner } from "./templates/input.ts";

export function ownerOfPod(pod: Pod): Owner {
  const metadata = metadataOf(pod);
  const self: Owner = {
    apiVersion: "v1",
    kind: "Pod",
    name: readText(metadata.name),
    namespace: readText(metadata.namespace),
  };
  // Only a Pod whose name was generated was made by somebody else.
  const controller = readText(metadata.generateName) === "" ? undefined : controllerOf(metadata.ownerReferences);
  return controller ? { ...self, ...behind(controller, labelsOf(pod)) } : self;
}

type Reference = Omit<Owner, "namespace">;

function controllerOf(references: unknown): Reference | undefined {
  const found = readList(references)
    .filter(isRecord)
    .find(({ controller }) => controller === true);
  return found && { apiVersion: readText(found.apiVersion), kind: readText(found.kind), name: readText(found.name) };
}

/** ReplicaSets and Jobs bear the name of what made them, with an end of their own. */
function behind(controller: Reference, labels: Readonly<Record<string, string>>): Reference {
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
