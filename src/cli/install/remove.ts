/** A revision, or all of them, in; the objects that an installation made removed from the API, out. */
import { type KindRef, type KubeClient, kubeKinds } from "../../kube/index.ts";
import { FairleadError } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";

const cluster = (group: string, plural: string, kind: string): KindRef => ({
  group,
  version: "v1",
  plural,
  kind,
  namespaced: false,
});
const local = (group: string, version: string, plural: string, kind: string): KindRef => ({
  group,
  version,
  plural,
  kind,
  namespaced: true,
});

/** Webhooks first: until they are gone, Pods of the mesh could not be made without a control plane. */
const madeKinds: readonly KindRef[] = [
  kubeKinds.mutatingWebhooks,
  kubeKinds.validatingWebhooks,
  kubeKinds.deployments,
  kubeKinds.services,
  local("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler"),
  local("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"),
  local("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"),
  local("monitoring.coreos.com", "v1", "servicemonitors", "ServiceMonitor"),
  kubeKinds.configMaps,
  kubeKinds.roleBindings,
  kubeKinds.roles,
  cluster("rbac.authorization.k8s.io", "clusterrolebindings", "ClusterRoleBinding"),
  cluster("rbac.authorization.k8s.io", "clusterroles", "ClusterRole"),
  kubeKinds.serviceAccounts,
];

export interface RemoveOptions {
  readonly client: KubeClient;
  /** Undefined: every revision. */
  readonly revision: string | undefined;
  /** Resource definitions too, and with them every Istio object of the cluster. */
  readonly purge: boolean;
  say(text: string): void;
}

export async function removeInstallation({ client, revision, purge, say }: RemoveOptions): Promise<number> {
  const labelSelector = [
    "app.kubernetes.io/managed-by=fairlead",
    ...(revision ? [`istio.io/rev=${revision}`] : []),
  ].join();
  let removed = 0;
  for (const kind of madeKinds) {
    for (const object of await listed(client, kind, labelSelector)) {
      await client.delete(kind, object.metadata).catch(ignoreMissing);
      say(`${kind.kind} ${object.metadata.name} removed`);
      removed++;
    }
  }
  return purge ? removed + (await removeDefinitions(client, say)) : removed;
}

async function removeDefinitions(client: KubeClient, say: (text: string) => void): Promise<number> {
  const { items } = await client.list(kubeKinds.definitions);
  const ours = items.filter(({ metadata }) => metadata.name.endsWith(".istio.io"));
  for (const { metadata } of ours) {
    await client.delete(kubeKinds.definitions, { name: metadata.name }).catch(ignoreMissing);
    say(`CustomResourceDefinition ${metadata.name} removed`);
  }
  return ours.length;
}

/** Nothing of a kind that the API does not have. */
async function listed(client: KubeClient, kind: KindRef, labelSelector: string): Promise<readonly KubeObject[]> {
  const answer = await client.list(kind, { labelSelector }).catch((error: unknown) => {
    if (error instanceof FairleadError && error.code === "not-found") return { items: [] };
    throw error;
  });
  return answer.items;
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof FairleadError) || error.code !== "not-found") throw error;
}
