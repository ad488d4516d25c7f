/** Namespaces in; ConfigMap `istio-ca-root-cert` with the mesh's roots in each of them out. Only the leader writes. */
import type { Collection } from "../collections/index.ts";
import { type KubeClient, kubeKinds } from "../kube/index.ts";
import { FairleadError, isRecord, type Logger } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";

const { configMaps } = kubeKinds;
const name = "istio-ca-root-cert";

export interface RootDistributionOptions {
  readonly client: KubeClient;
  readonly namespaces: Collection<KubeObject>;
  readonly configMaps: Collection<KubeObject>;
  roots(): string;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Namespaces of the cluster itself, which hold no workloads of the mesh. */
const skipped: ReadonlySet<string> = new Set(["kube-system", "kube-public", "kube-node-lease", "local-path-storage"]);

export function runRootDistribution(options: RootDistributionOptions): void {
  const pending = new Set<string>();
  let working = false;
  const work = async (): Promise<void> => {
    working = true;
    for (const namespace of pending) {
      pending.delete(namespace);
      if (options.signal.aborted) break;
      await write(options, namespace).catch((error: unknown) => {
        options.log.warn(`${name} in ${namespace}: ${error instanceof Error ? error.message : String(error)}`);
        setTimeout(() => due(namespace), 1_000).unref();
      });
    }
    working = false;
  };
  const due = (namespace: string): void => {
    if (skipped.has(namespace)) return;
    pending.add(namespace);
    if (!working) void work();
  };
  const stopNamespaces = options.namespaces.subscribe((key, now) => now && due(key));
  const stopMaps = options.configMaps.subscribe((key) => {
    const slash = key.indexOf("/");
    if (key.slice(slash + 1) === name) due(key.slice(0, slash));
  });
  options.signal.addEventListener("abort", () => {
    stopNamespaces();
    stopMaps();
  });
  for (const namespace of options.namespaces.keys()) due(namespace);
}

async function write(options: RootDistributionOptions, namespace: string): Promise<void> {
  const object = options.namespaces.get(namespace);
  if (!object || object.metadata.deletionTimestamp !== undefined) return;
  const data = { "root-cert.pem": options.roots() };
  const existing = options.configMaps.get(`${namespace}/${name}`);
  const current = existing && isRecord(existing.data) ? existing.data["root-cert.pem"] : undefined;
  if (current === data["root-cert.pem"]) return;
  const metadata = { name, namespace, labels: { "istio.io/config": "true" } };
  try {
    await options.client.create(configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata, data });
  } catch (error) {
    if (!(error instanceof FairleadError) || error.code !== "already-exists") throw error;
    await options.client.patch(configMaps, { name, namespace }, "merge", { data });
  }
}
