/** A revision, or all of them, in; the objects that an installation made removed from the API, out. */
import { type KindRef, type KubeClient, kubeKinds } from "../../kube/index.ts";
import { FairleadError } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { tellOfNoDefault } from "./default-revision.ts";

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
    ...(revision === undefined ? [] : [`istio.io/rev=${revision}`]),
  ].join();
  const namespaces = new Set<string>();
  let removed = 0;
  const remove = async (kind: KindRef, object: KubeObject): Promise<void> => {
    await client.delete(kind, object.metadata).catch(ignoreMissing);
    say(`${kind.kind} ${object.metadata.name} removed`);
    removed++;
  };
  for (const kind of madeKinds)
    for (const object of await listed(client, kind, labelSelector)) {
      if (object.metadata.namespace !== undefined) namespaces.add(object.metadata.namespace);
      await remove(kind, object);
    }
  for (const account of await unusedAccounts(client)) await remove(kubeKinds.serviceAccounts, account);
  if (purge) {
    for (const [kind, object] of await tracesOf(client, namespaces)) await remove(kind, object);
    removed += await removeDefinitions(client, say);
  }
  const left = await leftOf(client, namespaces);
  if (left.length > 0) say(`left as they are: ${left.join("; ")}`);
  await tellOfNoDefault(client, say);
  return removed;
}

/** Those that our revisions share, once no control plane is left that could. */
async function unusedAccounts(client: KubeClient): Promise<readonly KubeObject[]> {
  if ((await listed(client, kubeKinds.deployments, "app=istiod")).length > 0) return [];
  return listed(client, kubeKinds.serviceAccounts, "app.kubernetes.io/managed-by=fairlead,!istio.io/rev");
}

const roots = "istio-ca-root-cert";
const lockAnnotation = "control-plane.alpha.kubernetes.io/leader";

/** What a control plane itself has made: the mesh's roots in every namespace, and its locks. */
async function tracesOf(
  client: KubeClient,
  namespaces: ReadonlySet<string>,
): Promise<readonly (readonly [KindRef, KubeObject])[]> {
  const isOwn = ({ metadata }: KubeObject): boolean => namespaces.has(metadata.namespace ?? "");
  const maps = await listed(client, kubeKinds.configMaps, "");
  const leases = await listed(client, kubeKinds.leases, "");
  return [
    ...maps
      .filter(
        (object) =>
          (object.metadata.name === roots && object.metadata.labels?.["istio.io/config"] === "true") ||
          (isOwn(object) && object.metadata.annotations?.[lockAnnotation] !== undefined),
      )
      .map((object) => [kubeKinds.configMaps, object] as const),
    ...leases
      .filter((object) => isOwn(object) && object.metadata.name.startsWith("istio-"))
      .map((object) => [kubeKinds.leases, object] as const),
  ];
}

/** In words; nothing while another control plane is there, whose things they are then. */
async function leftOf(client: KubeClient, namespaces: ReadonlySet<string>): Promise<readonly string[]> {
  const others = await listed(client, kubeKinds.deployments, "app=istiod");
  if (namespaces.size === 0 || others.length > 0) return [];
  const names = [...namespaces].sort();
  const secrets = await Promise.all(
    names.map((namespace) => client.find(kubeKinds.secrets, { name: "istio-ca-secret", namespace })),
  );
  const maps = (await listed(client, kubeKinds.configMaps, "istio.io/config=true")).filter(
    ({ metadata }) => metadata.name === roots,
  );
  const { items } = await client.list(kubeKinds.definitions);
  const definitions = items.filter(({ metadata }) => metadata.name.endsWith(".istio.io"));
  return [
    ...names.map((name) => `namespace ${name}`),
    ...secrets.flatMap((found) =>
      found ? [`Secret ${found.metadata.namespace}/istio-ca-secret, with which a next control plane goes on`] : [],
    ),
    ...(maps.length > 0 ? [`ConfigMap ${roots} in ${maps.length} namespaces`] : []),
    ...(definitions.length > 0 ? [`${definitions.length} resource definitions with their objects`] : []),
  ];
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
  const answer = await client.list(kind, labelSelector === "" ? {} : { labelSelector }).catch((error: unknown) => {
    if (error instanceof FairleadError && error.code === "not-found") return { items: [] };
    throw error;
  });
  return answer.items;
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof FairleadError) || error.code !== "not-found") throw error;
}
