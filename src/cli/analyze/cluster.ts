/** A Kubernetes API in; the objects that analysers look at, and the mesh's settings, out. */
import { type KindRef, type KubeClient, kindRef, kubeKinds } from "../../kube/index.ts";
import { FairleadError, isRecord, readText } from "../../lib/index.ts";
import { type KubeObject, kinds } from "../../model/index.ts";

const { namespaces, nodes, pods, services, secrets, configMaps, deployments } = kubeKinds;
const { mutatingWebhooks, validatingWebhooks, definitions } = kubeKinds;
const analysedKinds: readonly KindRef[] = [
  ...[namespaces, nodes, pods, services, secrets, configMaps, deployments],
  ...[mutatingWebhooks, validatingWebhooks, definitions],
  ...kinds.map(kindRef),
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
