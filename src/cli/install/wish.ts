/** What an installation was asked for, kept in a ConfigMap beside it: an upgrade starts from it. */
import { type KubeClient, kubeKinds } from "../../kube/index.ts";
import { isRecord, objectLimits, parseJson, readList, readRecord, readText } from "../../lib/index.ts";
import { applyObject } from "../objects.ts";
import type { Installation, Wish } from "./installation.ts";

const nameOf = (revision: string): string =>
  revision === "default" ? "fairlead-values" : `fairlead-values-${revision}`;

export async function writeWish(client: KubeClient, { namespace, revision, wish }: Installation): Promise<void> {
  await applyObject(client, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name: nameOf(revision),
      namespace,
      labels: { "app.kubernetes.io/managed-by": "fairlead", "istio.io/rev": revision },
    },
    data: { values: JSON.stringify(wish, null, 2) },
  });
}

export async function readWish(client: KubeClient, namespace: string, revision: string): Promise<Wish | undefined> {
  const found = await client.find(kubeKinds.configMaps, { name: nameOf(revision), namespace });
  const text = readText(readRecord(found?.data).values);
  const parsed = text === "" ? undefined : parseJson(text, objectLimits);
  if (!isRecord(parsed)) return undefined;
  return { profile: readText(parsed.profile) || "default", values: readList(parsed.values) };
}
