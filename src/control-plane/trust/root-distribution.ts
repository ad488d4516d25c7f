/** Namespaces in; ConfigMap `istio-ca-root-cert` with the mesh's roots in each of them out. Only the leader writes. */
import type { Collection } from "../../collections/index.ts";
import { type KubeClient, kubeKinds } from "../../kube/index.ts";
import { isRecord, type Logger } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { runKeyedWork } from "../controllers/index.ts";

const { configMaps } = kubeKinds;
const name = "istio-ca-root-cert";

export interface RootDistributionOptions {
  readonly client: KubeClient;
  readonly namespaces: Collection<KubeObject>;
  readonly configMaps: Collection<KubeObject>;
  roots(): string;
  /** Calls back when the roots have changed; returns the way to stop. */
  onRoots(changed: () => void): () => void;
  readonly log: Logger;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** Namespaces of the cluster itself, which hold no workloads of the mesh. */
const skipped: ReadonlySet<string> = new Set(["kube-system", "kube-public", "kube-node-lease", "local-path-storage"]);

export function runRootDistribution(options: RootDistributionOptions): void {
  const queue = runKeyedWork({ ...options, name: `${name} in`, work: (namespace) => write(options, namespace) });
  const due = (namespace: string): void => {
    if (!skipped.has(namespace)) queue.due(namespace);
  };
  const stopNamespaces = options.namespaces.subscribe((key, now) => now && due(key));
  const stopMaps = options.configMaps.subscribe((key) => {
    const slash = key.indexOf("/");
    if (key.slice(slash + 1) === name) due(key.slice(0, slash));
  });
  const all = (): void => options.namespaces.keys().forEach(due);
  const stopRoots = options.onRoots(all);
  options.signal.addEventListener("abort", () => {
    stopNamespaces();
    stopMaps();
    stopRoots();
  });
  all();
}

async function write(options: RootDistributionOptions, namespace: string): Promise<void> {
  const object = options.namespaces.get(namespace);
  if (!object || object.metadata.deletionTimestamp !== undefined) return;
  const data = { "root-cert.pem": options.roots() };
  const existing = options.configMaps.get(`${namespace}/${name}`);
  const current = existing && isRecord(existing.data) ? existing.data["root-cert.pem"] : undefined;
  if (current === data["root-cert.pem"]) return;
  // Updated, never patched: istiod's own role allows no more. The version in the metadata tells of a faster writer.
  if (existing) await options.client.update(configMaps, { ...existing, data }, { signal: options.signal });
  else {
    const metadata = { name, namespace, labels: { "istio.io/config": "true" } };
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata, data };
    await options.client.create(configMaps, object, { signal: options.signal });
  }
}
