/**
 * Namespaces in; ConfigMap `istio-ca-root-cert` with the mesh's roots in each of them out, and another (`istio-ca-crl`)
 * with what its CA has revoked, where it has. Only the leader writes.
 */
import type { Collection } from "../../collections/index.ts";
import { type KubeClient, kubeKinds } from "../../kube/index.ts";
import { isRecord, type Logger, type QueueMeter } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { runKeyedWork } from "../controllers/index.ts";

const { configMaps } = kubeKinds;

interface Distributed {
  readonly map: string;
  readonly file: string;
  content(): string;
}

function distributed({ roots, revoked, revokedMap }: RootDistributionOptions): readonly Distributed[] {
  const maps = [{ map: "istio-ca-root-cert", file: "root-cert.pem", content: roots }];
  return revokedMap === "" ? maps : [...maps, { map: revokedMap, file: "ca-crl.pem", content: revoked }];
}

export interface RootDistributionOptions {
  readonly client: KubeClient;
  readonly namespaces: Collection<KubeObject>;
  readonly configMaps: Collection<KubeObject>;
  roots(): string;
  /** Lists of revoked certificates; empty where there is none. */
  revoked(): string;
  /** Name of the ConfigMap with these; empty for none. */
  readonly revokedMap: string;
  /** Calls back when any of it has changed; returns the way to stop. */
  onRoots(changed: () => void): () => void;
  readonly log: Logger;
  readonly meter?: QueueMeter;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** Namespaces of the cluster itself, which hold no workloads of the mesh. */
const skipped: ReadonlySet<string> = new Set(["kube-system", "kube-public", "kube-node-lease", "local-path-storage"]);

export function runRootDistribution(options: RootDistributionOptions): void {
  const names = new Set(distributed(options).map(({ map }) => map));
  const queue = runKeyedWork({ ...options, name: "roots in", work: (namespace) => write(options, namespace) });
  const due = (namespace: string): void => {
    if (!skipped.has(namespace)) queue.due(namespace);
  };
  const stopNamespaces = options.namespaces.subscribe((key, now) => now && due(key));
  const stopMaps = options.configMaps.subscribe((key) => {
    const slash = key.indexOf("/");
    if (names.has(key.slice(slash + 1))) due(key.slice(0, slash));
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
  for (const one of distributed(options)) await writeMap(options, namespace, one);
}

async function writeMap(
  options: RootDistributionOptions,
  namespace: string,
  { map, file, content }: Distributed,
): Promise<void> {
  const { client, signal } = options;
  const data = { [file]: content() };
  const existing = options.configMaps.get(`${namespace}/${map}`);
  const current = existing && isRecord(existing.data) ? existing.data[file] : undefined;
  if (current === data[file] || (!existing && data[file] === "")) return;
  // Updated, never patched: istiod's own role allows no more. The version in the metadata tells of a faster writer.
  if (existing) await client.update(configMaps, { ...existing, data }, { signal });
  else {
    const metadata = { name: map, namespace, labels: { "istio.io/config": "true" } };
    await client.create(configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata, data }, { signal });
  }
}
