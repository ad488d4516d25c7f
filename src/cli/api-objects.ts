/** A Kubernetes API in; all objects that the mesh is made from out. */
import { type KindRef, type KubeClient, kubeKinds, meshKinds } from "../kube/index.ts";
import { FairleadError, isRecord, readList, readRecord, readText } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { Io } from "./command.ts";

/** Until the API has said that it is there; lists of a large cluster take longer. */
const answerMs = 5_000;
const listsMs = 60_000;

export interface ApiObjectsOptions {
  readonly io: Io;
  /** Where the API is, for people. */
  readonly at: string;
  /** What may not be read is an error; else it is told, and the rest is read. */
  readonly isWhole: boolean;
}

export async function readApiObjects(client: KubeClient, options: ApiObjectsOptions): Promise<readonly KubeObject[]> {
  const { io } = options;
  await answers(client, options);
  const signal = AbortSignal.any([io.signal, AbortSignal.timeout(listsMs)]);
  const lists = await Promise.all(meshKinds.map((kind) => listAll(client, kind, signal, options)));
  const objects = lists.flat();
  return [...objects, ...(await certificates(client, objects, signal, options))];
}

/** Whoever may read nothing may still ask for one Namespace: any answer of the API shows that it is there. */
async function answers(client: KubeClient, { io: { signal: stop }, at }: ApiObjectsOptions): Promise<void> {
  const signal = AbortSignal.any([stop, AbortSignal.timeout(answerMs)]);
  try {
    await client.find(kubeKinds.namespaces, { name: "kube-system" }, signal);
  } catch (error) {
    if (signal.aborted && !stop.aborted)
      throw new FairleadError("timeout", `the API at ${at} gave no answer within ${answerMs / 1000} s`, {
        hint: "is it the right --context? `kubectl get --raw /readyz` asks the same API",
        cause: error,
      });
    if (FairleadError.from(error).code !== "forbidden") throw error;
  }
}

/** Kinds that the API does not serve have no objects. */
async function listAll(
  client: KubeClient,
  kind: KindRef,
  signal: AbortSignal,
  { io, isWhole }: ApiObjectsOptions,
): Promise<readonly KubeObject[]> {
  const items: KubeObject[] = [];
  try {
    let next: string | undefined;
    do {
      const page = await client.list(kind, { limit: 500, continue: next, signal });
      items.push(...page.items.map((item) => typed(kind, item)));
      next = page.continue;
    } while (next !== undefined);
    return items;
  } catch (error) {
    const { code, message } = FairleadError.from(error);
    if (code === "not-found") return [];
    if (code !== "forbidden" || isWhole) throw error;
    io.err(`warning: ${message}\n`);
    return items;
  }
}

const typed = (kind: KindRef, item: KubeObject): KubeObject => ({
  ...item,
  apiVersion: kind.group === "" ? kind.version : `${kind.group}/${kind.version}`,
  kind: kind.kind,
});

/** Only the Secrets that Gateways name: a listener whose certificate is missing or broken is not served. */
async function certificates(
  client: KubeClient,
  objects: readonly KubeObject[],
  signal: AbortSignal,
  { io }: ApiObjectsOptions,
): Promise<readonly KubeObject[]> {
  const named = new Map(objects.flatMap(certificateRefs).map((ref) => [`${ref.namespace}/${ref.name}`, ref]));
  const read = [...named.values()].map(async (ref) => {
    try {
      const secret = await client.find(kubeKinds.secrets, ref, signal);
      return secret ? [typed(kubeKinds.secrets, secret)] : [];
    } catch (error) {
      if (FairleadError.from(error).code !== "forbidden") throw error;
      io.err(
        `warning: Secret ${ref.namespace}/${ref.name} may not be read: its listener counts as without certificate\n`,
      );
      return [];
    }
  });
  return (await Promise.all(read)).flat();
}

function certificateRefs({
  kind,
  apiVersion,
  metadata,
  spec,
}: KubeObject): readonly { name: string; namespace: string }[] {
  if (kind !== "Gateway" || !apiVersion.startsWith("gateway.networking.k8s.io/")) return [];
  return readList(readRecord(spec).listeners)
    .flatMap((listener) => readList(readRecord(readRecord(listener).tls).certificateRefs))
    .filter(isRecord)
    .map((ref) => ({ name: readText(ref.name), namespace: readText(ref.namespace) || (metadata.namespace ?? "") }))
    .filter(({ name }) => name !== "");
}
