/** Before the suite on a given cluster: the resource definitions that are missing; after it: these are removed again. */
import { crdFor } from "../../src/config/index.ts";
import { createKubeClient, kubeKinds, loadKubeconfig } from "../../src/kube/index.ts";
import { readList, readRecord } from "../../src/lib/index.ts";
import { type KubeObject, kinds } from "../../src/model/index.ts";

export async function setup(): Promise<(() => Promise<void>) | undefined> {
  const kubeconfig = process.env.FAIRLEAD_CLUSTER;
  if (!kubeconfig) return undefined;
  const client = createKubeClient(await loadKubeconfig({ paths: [kubeconfig], env: process.env }));
  const made: string[] = [];
  for (const kind of kinds) {
    const definition = crdFor(kind) as unknown as KubeObject;
    if (await client.find(kubeKinds.definitions, definition.metadata)) continue;
    await client.create(kubeKinds.definitions, definition);
    made.push(definition.metadata.name);
  }
  for (const name of made) while (!isServed(await client.get(kubeKinds.definitions, { name }))) await tick();
  return async () => {
    for (const name of made) await client.delete(kubeKinds.definitions, { name });
    client.close();
  };
}

const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50));

const isServed = ({ status }: KubeObject): boolean =>
  readList(readRecord(status).conditions)
    .map(readRecord)
    .some(({ type, status: value }) => type === "Established" && value === "True");
