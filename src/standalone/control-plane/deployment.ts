/**
 * The Deployment `istiod` of whoever looks for a control plane in; what it asks for, kept true in its status and by a
 * ReplicaSet between it and the Pod, out. One process runs here, so it has one replica whatever is asked for.
 */
import { type EventRecorder, type KindRef, type KubeClient, kubeKinds } from "../../kube/index.ts";
import { digest, FairleadError, readNumber, readRecord, readTextMap } from "../../lib/index.ts";
import { type KubeObject, type OwnerReference, ownPart } from "../../model/index.ts";
import { ignoreMissing } from "../endpoint-slices.ts";
import { serviceAccounts } from "../kinds.ts";

const { deployments, replicaSets } = kubeKinds;

export const ref = { name: "istiod", namespace: "istio-system" };
export const labels = {
  ...{ app: "istiod", istio: "pilot", "istio.io/rev": "default" },
  ...{ "operator.istio.io/component": "Pilot", "sidecar.istio.io/inject": "false" },
};
const selector = { app: "istiod", istio: "pilot" };

/** What the Deployment asks for. */
export interface Wish {
  /** Another one means that the Pod is to be replaced: `kubectl rollout restart` writes a time into it. */
  readonly template: string;
  /** Of the template, for the Pod. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly generation: number;
  readonly owner: OwnerReference;
}

export interface ReadyCount {
  readonly updated: number;
  readonly ready: number;
  /** Since when it is so. */
  readonly since: string;
}

/** As it is in the API, made where nobody has made it; one of an earlier `up` has that one's Pod in it. */
export async function readWish(client: KubeClient, podSpec: object, events: EventRecorder): Promise<Wish> {
  await ensure(client, serviceAccounts, { apiVersion: "v1", kind: "ServiceAccount", metadata: ref });
  const found = await ensure(client, deployments, deploymentObject(podSpec));
  const spec = readRecord(found.spec);
  const replicas = readNumber(spec.replicas) ?? 1;
  if (replicas !== 1) {
    await client.patch(deployments, ref, "merge", { spec: { replicas: 1 } });
    const words = `fairlead up runs one control plane: ${replicas} replicas are not possible`;
    events.record(found, "Warning", "FailedScale", words);
  }
  const template = readRecord(spec.template);
  return {
    template: Buffer.from(digest(JSON.stringify(template)), "base64url").toString("hex"),
    annotations: readTextMap(readRecord(template.metadata).annotations),
    generation: found.metadata.generation ?? 1,
    owner: ownerOf(found),
  };
}

/** A new `up` may be another version. */
export async function renewTemplate(client: KubeClient, podSpec: object): Promise<void> {
  const metadata = { annotations: { [ownPart]: "control-plane" } };
  if (await client.find(deployments, ref))
    await client.patch(deployments, ref, "merge", { metadata, spec: { template: { spec: podSpec } } });
}

/** The one of this template; those of earlier ones go. */
export async function ensureReplicaSet(client: KubeClient, wish: Wish, podSpec: object): Promise<OwnerReference> {
  const hash = wish.template.slice(0, 10);
  const name = `${ref.name}-${hash}`;
  const { namespace } = ref;
  const { items } = await client.list(replicaSets, { namespace, labelSelector: "app=istiod,istio=pilot" });
  for (const { metadata } of items)
    if (metadata.name !== name && metadata.ownerReferences?.some(({ uid }) => uid === wish.owner.uid))
      await client.delete(replicaSets, { name: metadata.name, namespace }).catch(ignoreMissing);
  const marked = { ...labels, "pod-template-hash": hash };
  const made = await ensure(client, replicaSets, {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      ...{ name, namespace, labels: marked, ownerReferences: [wish.owner] },
      annotations: { "deployment.kubernetes.io/revision": "1" },
    },
    spec: {
      replicas: 1,
      selector: { matchLabels: { ...selector, "pod-template-hash": hash } },
      template: { metadata: { labels: marked }, spec: podSpec },
    },
  });
  return ownerOf(made);
}

export async function writeCounts(client: KubeClient, wish: Wish, set: string, count: ReadyCount): Promise<void> {
  const { ready, updated, since } = count;
  const times = { lastUpdateTime: since, lastTransitionTime: since };
  const reason = ready === 1 ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable";
  const progress = ready === 1 ? "NewReplicaSetAvailable" : "ReplicaSetUpdated";
  const status = {
    ...{ observedGeneration: wish.generation, replicas: 1, updatedReplicas: updated },
    ...{ readyReplicas: ready, availableReplicas: ready, unavailableReplicas: 1 - ready },
    conditions: [
      { type: "Available", status: ready === 1 ? "True" : "False", reason, ...times },
      { type: "Progressing", status: "True", reason: progress, ...times },
    ],
  };
  await client.patchStatus(deployments, ref, status).catch(ignoreMissing);
  const ofSet = { observedGeneration: 1, replicas: 1, readyReplicas: ready, availableReplicas: ready };
  if (set !== "") await client.patchStatus(replicaSets, { ...ref, name: set }, ofSet).catch(ignoreMissing);
}

function deploymentObject(podSpec: object): KubeObject {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { ...ref, labels, annotations: { [ownPart]: "control-plane" } },
    spec: {
      replicas: 1,
      selector: { matchLabels: selector },
      template: { metadata: { labels }, spec: podSpec },
    },
  };
}

function ownerOf({ apiVersion, kind, metadata }: KubeObject): OwnerReference {
  const { name, uid = "" } = metadata;
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

async function ensure(client: KubeClient, kind: KindRef, object: KubeObject): Promise<KubeObject> {
  const { name, namespace } = object.metadata;
  const found = await client.find(kind, { name, namespace });
  if (found) return found;
  return client.create(kind, object).catch((error: unknown) => {
    if (!(error instanceof FairleadError) || error.code !== "already-exists") throw error;
    return client.get(kind, { name, namespace });
  });
}
