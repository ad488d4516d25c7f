/** A control plane as the chart installs it, in a namespace and a revision of its own: its roles, its ConfigMaps, its webhooks. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Discovery, type DiscoveryOptions, startDiscovery } from "../../src/control-plane/index.ts";
import { completeValues, installObjects } from "../../src/install/index.ts";
import { loadKubeconfig, requestToken } from "../../src/kube/index.ts";
import { createLogger, readList, readRecord } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";
import type { Cluster } from "./cluster.ts";

export interface Plane {
  readonly namespace: string;
  readonly revision: string;
  /** Namespaces with these labels are this mesh's, and their Pods are injected. */
  readonly labels: Readonly<Record<string, string>>;
  readonly discovery: Discovery;
  /** Whom the control plane is to the API. */
  readonly user: string;
  /** Everything that was logged. */
  readonly log: readonly string[];
  /** Resolves when the API asks it: the webhooks have its root, and fail closed. */
  answering(): Promise<void>;
  /** Another control plane of the same installation. */
  replica(identity: string, more?: Partial<DiscoveryOptions>): Promise<Discovery>;
  webhooks(kind: "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration"): Promise<KubeObject | undefined>;
}

/** The address at which the API server reaches webhooks of this process. */
const host = process.env.FAIRLEAD_TEST_HOST ?? "127.0.0.1";
const free = { host, port: 0 };
const notRun = new Set(["Deployment", "HorizontalPodAutoscaler", "PodDisruptionBudget", "NetworkPolicy", "Service"]);
let planes = 0;

export async function startPlane(cluster: Cluster, values: Readonly<Record<string, unknown>> = {}): Promise<Plane> {
  const revision = `r${cluster.id}${planes++}`;
  const labels = { "istio.io/rev": revision };
  const namespace = await cluster.namespace(labels);
  const meshConfig = { discoverySelectors: [{ matchLabels: labels }] };
  const objects = installObjects({
    namespace,
    values: completeValues("default", [{ revision, meshConfig, ...values }]),
    printYaml: (data) => JSON.stringify(data),
  });
  const isWebhook = ({ kind }: KubeObject): boolean => kind.endsWith("WebhookConfiguration");
  for (const object of objects) if (!isWebhook(object) && !notRun.has(object.kind)) await cluster.create(object);
  const account = `istiod-${revision}`;
  const kubeconfig = join(cluster.dir, `${revision}.kubeconfig`);
  await writeKubeconfig(cluster, namespace, account, kubeconfig);
  const log: string[] = [];
  const start = async (identity: string, more: Partial<DiscoveryOptions> = {}): Promise<Discovery> => {
    const plane = await startDiscovery({
      access: await loadKubeconfig({ paths: [kubeconfig], env: {} }),
      addresses: { grpc: free, secureGrpc: free, monitoring: free, https: free, http: free },
      extraSecure: [],
      domain: "cluster.local",
      cluster: "Kubernetes",
      namespace,
      revision,
      identity,
      analysis: true,
      injection: { nativeSidecars: "auto", compliancePolicy: "", platform: "" },
      debounceMs: 5,
      debounceMaxMs: 50,
      log: createLogger({ write: (line) => void log.push(line), now: () => new Date() }),
      now: () => new Date(),
      monotonicMs: () => performance.now(),
      random: Math.random,
      signal: new AbortController().signal,
      ...more,
    });
    cluster.atEnd(() => plane.close());
    return plane;
  };
  const discovery = await start(`${account}-0`);
  const { port } = discovery.addresses.https;
  for (const object of objects.filter(isWebhook)) await cluster.create(reachedAt(object, `https://${host}:${port}`));
  return {
    namespace,
    revision,
    labels,
    discovery,
    user: `system:serviceaccount:${namespace}:${account}`,
    log,
    replica: start,
    async answering() {
      for (const object of objects.filter(isWebhook))
        while (!failsClosed(await cluster.find(object))) await new Promise((resolve) => setTimeout(resolve, 50));
    },
    async webhooks(kind) {
      const found = objects.find((object) => object.kind === kind);
      return found && cluster.find(found);
    },
  };
}

async function writeKubeconfig(cluster: Cluster, namespace: string, account: string, file: string): Promise<void> {
  const { token } = await requestToken(cluster.admin, { namespace, serviceAccount: account, audiences: [] });
  const { server, ca = "" } = await loadKubeconfig({ paths: [cluster.kubeconfig], env: process.env });
  const config = {
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    clusters: [
      { name: "c", cluster: { server, "certificate-authority-data": Buffer.from(ca ?? "").toString("base64") } },
    ],
    users: [{ name: "u", user: { token } }],
  };
  await writeFile(file, JSON.stringify(config), { mode: 0o600 });
}

const failsClosed = (object: KubeObject | undefined): boolean =>
  readList(object?.webhooks)
    .map(readRecord)
    .every(({ failurePolicy, clientConfig }) => failurePolicy === "Fail" && "caBundle" in readRecord(clientConfig));

/** There is no Service to reach this process by. */
function reachedAt(object: KubeObject, url: string): KubeObject {
  const webhooks = readList(object.webhooks)
    .map(readRecord)
    .map((webhook) => {
      const { path } = readRecord(readRecord(webhook.clientConfig).service);
      return { ...webhook, clientConfig: { url: `${url}${String(path)}` } };
    });
  return { ...object, webhooks };
}
