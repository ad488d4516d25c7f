/**
 * The cluster that this suite runs on: the embedded API with the controllers of a standalone mesh, or, where
 * FAIRLEAD_CLUSTER names a kubeconfig (`npm run test:cluster`), that cluster. Everything made here is removed at the end.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CommandResult, runKubectl, startApi } from "../../src/apiserver/testing.ts";
import { startControllers } from "../../src/cli/up/controllers.ts";
import {
  apiStatus,
  collectionPath,
  createKubeClient,
  type KindRef,
  type KubeClient,
  kindRef,
  kubeKinds,
  loadKubeconfig,
  objectPath,
} from "../../src/kube/index.ts";
import { readRecord, silentLogger } from "../../src/lib/index.ts";
import { type KubeObject, kinds as meshKinds } from "../../src/model/index.ts";
import { planNetwork } from "../../src/standalone/index.ts";

export interface Answer {
  readonly code: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Cluster {
  /** Not the embedded one. */
  readonly given: boolean;
  readonly kubeconfig: string;
  readonly dir: string;
  /** May do everything. */
  readonly admin: KubeClient;
  /** A word that no other run uses, for names of objects of the whole cluster. */
  readonly id: string;
  /** A namespace of one's own. */
  namespace(labels?: Readonly<Record<string, string>>): Promise<string>;
  /** Creates it, and removes it at the end where it belongs to no namespace. */
  create(object: KubeObject): Promise<KubeObject>;
  find(object: Pick<KubeObject, "apiVersion" | "kind" | "metadata">): Promise<KubeObject | undefined>;
  /** One request, with whatever it is answered. */
  call(method: string, path: string, body?: unknown): Promise<Answer>;
  kubectl(args: string, input?: string, env?: Readonly<Record<string, string>>): Promise<CommandResult>;
  /** Runs at the end, before the namespaces go. */
  atEnd(work: () => Promise<unknown> | unknown): void;
  close(): Promise<void>;
}

const rbac = "rbac.authorization.k8s.io";
const more: readonly KindRef[] = [
  { group: rbac, version: "v1", plural: "clusterroles", kind: "ClusterRole", namespaced: false },
  { group: rbac, version: "v1", plural: "clusterrolebindings", kind: "ClusterRoleBinding", namespaced: false },
  { group: "policy", version: "v1", plural: "poddisruptionbudgets", kind: "PodDisruptionBudget", namespaced: true },
  {
    group: "autoscaling",
    version: "v2",
    plural: "horizontalpodautoscalers",
    kind: "HorizontalPodAutoscaler",
    namespaced: true,
  },
];
const known: readonly KindRef[] = [...Object.values(kubeKinds), ...meshKinds.map(kindRef), ...more];

export function kindFor({ apiVersion, kind }: Pick<KubeObject, "apiVersion" | "kind">): KindRef {
  const slash = apiVersion.indexOf("/");
  const group = slash < 0 ? "" : apiVersion.slice(0, slash);
  const found = known.find((ref) => ref.group === group && ref.kind === kind);
  if (!found) throw new Error(`the suite does not know how to write ${apiVersion} ${kind}`);
  return { ...found, version: apiVersion.slice(slash + 1) };
}

/** What runs where no cluster is given: the API, and what a cluster's controller-manager does. */
async function embedded(): Promise<{ readonly kubeconfig: string; close(): Promise<void> }> {
  const api = await startApi();
  const client = createKubeClient(await loadKubeconfig({ paths: [api.kubeconfig], env: {} }));
  const plan = planNetwork({ dataDir: api.dir, podCidr: "10.20.0.0/16", serviceCidr: "10.21.0.0/16" });
  const controllers = await startControllers(client, plan, silentLogger);
  return {
    kubeconfig: api.kubeconfig,
    async close() {
      controllers.close();
      client.close();
      await api.close();
    },
  };
}

export async function openCluster(): Promise<Cluster> {
  const given = process.env.FAIRLEAD_CLUSTER;
  const own = given ? undefined : await embedded();
  const kubeconfig = given ?? own?.kubeconfig ?? "";
  const dir = await mkdtemp(join(tmpdir(), "fairlead-cluster-"));
  const admin = createKubeClient(await loadKubeconfig({ paths: [kubeconfig], env: process.env }));
  const id = randomBytes(4).toString("hex");
  const namespaces: string[] = [];
  const ends: (() => Promise<unknown> | unknown)[] = [];
  const remove = (kind: KindRef, name: string): Promise<unknown> => admin.delete(kind, { name }).catch(() => undefined);
  return {
    given: given !== undefined,
    kubeconfig,
    dir,
    admin,
    id,
    async namespace(labels = {}) {
      const name = `fl-${id}-${namespaces.length}`;
      namespaces.push(name);
      await admin.create(kubeKinds.namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
      return name;
    },
    async create(object) {
      const kind = kindFor(object);
      const made = await admin.create(kind, object);
      if (!kind.namespaced) ends.unshift(() => remove(kind, made.metadata.name));
      return made;
    },
    find: (object) => admin.find(kindFor(object), object.metadata),
    call: (method, path, body) => answerOf(admin.raw(method, path, body)),
    kubectl: (args, input, env) => runKubectl({ kubeconfig, home: dir, timeoutMs: 60_000 }, args, input, env),
    atEnd: (work) => void ends.unshift(work),
    async close() {
      for (const work of ends) await work();
      await Promise.all(namespaces.map((name) => remove(kubeKinds.namespaces, name)));
      admin.close();
      await own?.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** The path of an object, for `call`. */
export function pathOf(object: Pick<KubeObject, "apiVersion" | "kind" | "metadata">, subresource?: string): string {
  return objectPath(kindFor(object), object.metadata, subresource);
}

export function collectionOf(object: Pick<KubeObject, "apiVersion" | "kind" | "metadata">): string {
  return collectionPath(kindFor(object), object.metadata.namespace);
}

async function answerOf(answer: Promise<unknown>): Promise<Answer> {
  try {
    return { code: 200, body: readRecord(await answer) };
  } catch (error) {
    const status = apiStatus(error);
    if (!status) throw error;
    return { code: status.code, body: { ...status } };
  }
}
