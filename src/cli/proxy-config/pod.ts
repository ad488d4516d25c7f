/** A Pod as a person named it in; the Pods meant out. */
import type { KubeClient } from "../../kube/index.ts";
import { FairleadError, isRecord, sortBy } from "../../lib/index.ts";
import type { KubeObject, PodName } from "../../model/index.ts";
import { standaloneKinds } from "../../standalone/index.ts";
import { findKind } from "../objects.ts";

export interface PodRef {
  readonly name: string;
  readonly namespace: string;
  /** Unknown where no API was at hand to ask. */
  readonly uid?: string | undefined;
}

export async function findPods(client: KubeClient, wanted: PodName): Promise<readonly PodRef[]> {
  const { type, name, namespace } = wanted;
  if (type === "") {
    const pod = await client.find(standaloneKinds.pods, { name, namespace });
    return [{ name, namespace, uid: pod?.metadata.uid }];
  }
  const found = await selectPods(client, namespace, await selectorOf(client, wanted));
  if (found.length === 0)
    throw new FairleadError("not-found", `no pods match "${type}/${name}"`, {
      hint: `the namespace is ${namespace}; name another with -n or as ${type}/${name}.NAMESPACE`,
    });
  return found;
}

/** Running ones first. */
export async function selectPods(
  client: KubeClient,
  namespace: string,
  labelSelector: string,
): Promise<readonly PodRef[]> {
  const { items } = await client.list(standaloneKinds.pods, { namespace, labelSelector });
  return sortBy(
    items,
    (pod) => (phaseOf(pod) === "Running" ? 0 : 1),
    (pod) => pod.metadata.name,
  ).map((pod) => ({
    name: pod.metadata.name,
    namespace,
    uid: pod.metadata.uid,
  }));
}

function phaseOf({ status }: KubeObject): unknown {
  return isRecord(status) ? status.phase : undefined;
}

/** Where nothing of that type and name is stored (a standalone mesh has Pods without Deployments), by the label `app`. */
async function selectorOf(client: KubeClient, { type, name, namespace }: PodName): Promise<string> {
  try {
    const kind = await findKind(client, type);
    const object = await client.get(kind, { name, namespace });
    if (kind.group === "gateway.networking.k8s.io") return `gateway.networking.k8s.io/gateway-name=${name}`;
    const selector = isRecord(object.spec) && isRecord(object.spec.selector) ? object.spec.selector : {};
    const labels = isRecord(selector.matchLabels) ? selector.matchLabels : selector;
    const pairs = Object.entries(labels).filter(([, value]) => typeof value === "string");
    if (pairs.length > 0) return pairs.map(([key, value]) => `${key}=${String(value)}`).join(",");
  } catch (error) {
    if (!(error instanceof FairleadError) || error.code !== "not-found") throw error;
  }
  return `app=${name}`;
}
