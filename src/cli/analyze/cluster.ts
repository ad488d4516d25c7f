/** A Kubernetes API in; the objects that analysers look at, and the mesh's settings, out. */
import type { KindRef, KubeClient } from "../../kube/index.ts";
import { FairleadError, isRecord, readText } from "../../lib/index.ts";
import { type KubeObject, kinds, storageVersion } from "../../model/index.ts";

const core = (group: string, plural: string, kind: string, namespaced = true): KindRef => ({
  group,
  version: "v1",
  plural,
  kind,
  namespaced,
});

const analysedKinds: readonly KindRef[] = [
  core("", "namespaces", "Namespace", false),
  core("", "nodes", "Node", false),
  core("", "pods", "Pod"),
  core("", "services", "Service"),
  core("", "secrets", "Secret"),
  core("", "configmaps", "ConfigMap"),
  core("apps", "deployments", "Deployment"),
  core("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", false),
  core("admissionregistration.k8s.io", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", false),
  core("apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition", false),
  ...kinds.map((kind) => ({
    group: kind.group,
    version: storageVersion(kind),
    plural: kind.plural,
    kind: kind.kind,
    namespaced: kind.scope === "Namespaced",
  })),
];

/** Kinds that the API does not serve have no objects; those that may not be read are told, and the rest goes on. */
export async function clusterObjects(
  client: KubeClient,
  signal: AbortSignal,
  onDenied: (message: string) => void,
): Promise<readonly KubeObject[]> {
  const lists = await Promise.all(
    analysedKinds.map((kind) =>
      listAll(client, kind, signal).catch((error: unknown): readonly KubeObject[] => {
        const { code, message } = FairleadError.from(error);
        if (code === "forbidden") onDenied(message);
        else if (code !== "not-found") throw error;
        return [];
      }),
    ),
  );
  return lists.flat();
}

async function listAll(client: KubeClient, kind: KindRef, signal: AbortSignal): Promise<readonly KubeObject[]> {
  const items: KubeObject[] = [];
  let next: string | undefined;
  do {
    const page = await client.list(kind, { limit: 500, continue: next, signal });
    items.push(...page.items);
    next = page.continue;
  } while (next !== undefined);
  return items;
}

export interface MeshTexts {
  readonly mesh: string;
  readonly networks: string;
}

/** Of the revision's ConfigMap in Istio's namespace. */
export function meshTexts(objects: readonly KubeObject[], namespace: string, revision: string): MeshTexts {
  const name = revision === "" || revision === "default" ? "istio" : `istio-${revision}`;
  const found = objects.find(
    ({ kind, metadata }) => kind === "ConfigMap" && metadata.namespace === namespace && metadata.name === name,
  );
  const data = isRecord(found?.data) ? found.data : {};
  return { mesh: readText(data.mesh), networks: readText(data.meshNetworks) };
}
