/** Objects of a cluster in; put there, whatever was there before, and their addresses out. */
import { type KindRef, type KubeClient, kubeKinds, type ObjectRef } from "../../src/kube/index.ts";
import { readRecord, readText } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";

export const put = (client: KubeClient, kind: KindRef, object: KubeObject): Promise<KubeObject> =>
  client.patch(kind, object.metadata, "apply", object, { fieldManager: "swap", force: true });

/** The address that the cluster gave the Service; where nothing gives any, one of ours. */
export async function addressOfService(
  client: KubeClient,
  ref: ObjectRef,
  choose: () => string | Promise<string>,
): Promise<string> {
  const given = readText(readRecord((await client.get(kubeKinds.services, ref)).spec).clusterIP);
  if (given) return given;
  const clusterIP = await choose();
  await client.patch(kubeKinds.services, ref, "merge", { spec: { clusterIP } });
  return clusterIP;
}
