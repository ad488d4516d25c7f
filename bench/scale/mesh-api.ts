/** A kubeconfig in; the few reads and writes that the benchmark makes out, against any API. */
import { createKubeClient, type KindRef, kindRef, kubeKinds, loadKubeconfig } from "../../src/kube/index.ts";
import { FairleadError } from "../../src/lib/index.ts";
import { type KubeObject, kindOf } from "../../src/model/index.ts";

export interface MeshApi {
  /** Creates what is not there and replaces what is, many at a time. */
  apply(objects: readonly KubeObject[]): Promise<void>;
  /** What is not there need not be removed. */
  remove(objects: readonly KubeObject[]): Promise<void>;
  find(object: KubeObject): Promise<KubeObject | undefined>;
  /** All objects of the kind of this one, wherever they are. */
  list(example: Pick<KubeObject, "apiVersion" | "kind">): Promise<readonly KubeObject[]>;
  /** What a namespace controller does once nothing is left in it. */
  finalize(namespace: KubeObject): Promise<void>;
  /** The certificate authority's Secret, decoded. */
  authority(): Promise<Readonly<Record<string, string>>>;
  close(): void;
}

/** Writes under way at once. */
const concurrency = 16;

const kubernetes: ReadonlyMap<string, KindRef> = new Map(
  Object.values(kubeKinds).map((kind) => [`${kind.group}/${kind.kind}`, kind]),
);

export async function openApi(kubeconfig: string): Promise<MeshApi> {
  const client = createKubeClient(await loadKubeconfig({ paths: [kubeconfig], env: {} }));
  const put = async (object: KubeObject): Promise<void> => {
    const kind = refOf(object);
    const { name, namespace } = object.metadata;
    const found = await client.find(kind, { name, namespace });
    if (!found) await client.create(kind, object);
    else await client.update(kind, { ...object, metadata: { ...found.metadata, ...object.metadata } });
  };
  const drop = async (object: KubeObject): Promise<void> => {
    const { name, namespace } = object.metadata;
    await client.delete(refOf(object), { name, namespace }).catch((error: unknown) => {
      if (!(error instanceof FairleadError) || error.code !== "not-found") throw error;
    });
  };
  return {
    apply: (objects) => inParallel(objects, (object) => persistently(() => put(object))),
    remove: (objects) => inParallel(objects, (object) => persistently(() => drop(object))),
    find: ({ metadata: { name, namespace }, ...object }) => client.find(refOf(object), { name, namespace }),
    list: async (example) => (await client.list(refOf(example))).items.map((one) => ({ ...one, ...example })),
    async finalize({ metadata: { name } }) {
      const found = await client.find(kubeKinds.namespaces, { name });
      if (found)
        await client.update(kubeKinds.namespaces, { ...found, spec: { finalizers: [] } }, { subresource: "finalize" });
    },
    async authority() {
      const { data } = await client.get(kubeKinds.secrets, { name: "istio-ca-secret", namespace: "istio-system" });
      const texts = Object.entries((data ?? {}) as Readonly<Record<string, string>>);
      return Object.fromEntries(texts.map(([key, text]) => [key, Buffer.from(text, "base64").toString()]));
    },
    close: client.close,
  };
}

function refOf({ apiVersion, kind }: Pick<KubeObject, "apiVersion" | "kind">): KindRef {
  const known = kindOf(apiVersion, kind);
  const group = apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
  const ref = known ? kindRef(known) : kubernetes.get(`${group}/${kind}`);
  if (!ref) throw new Error(`the benchmark writes no ${apiVersion} ${kind}`);
  return ref;
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = [...items];
  const worker = async (): Promise<void> => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

/** A connection may be lost, and another writer may be first. */
async function persistently(work: () => Promise<void>): Promise<void> {
  for (let left = 3; ; left--) {
    try {
      await work();
      return;
    } catch (error) {
      if (left === 0) throw error;
    }
  }
}
