/** A mesh in; the life of its users out: objects come and go, endpoints move, watches are opened and dropped, an agent dies. */
import { type KubeClient, kubeKinds } from "../../src/kube/index.ts";
import { wait } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";
import type { ChaosMesh } from "../chaos/mesh.ts";
import { istioKind, setChurned, setGeneration } from "../chaos/objects.ts";

export interface Changes {
  /** How many were made. */
  count(): number;
  /** Ends it, and takes back what was made. */
  stop(): Promise<void>;
}

const { services, configMaps, pods } = kubeKinds;
/** So many names are used over and over. */
const names = 40;

/** What one name stands for: a Service, a route to it, and something that no proxy reads. */
export const objectsOf = (
  name: string,
  step: number,
): readonly (readonly [Parameters<KubeClient["create"]>[0], KubeObject])[] => {
  const metadata = { name, namespace: "default" };
  const host = `${name}.default.svc.cluster.local`;
  return [
    [
      services,
      {
        apiVersion: "v1",
        kind: "Service",
        metadata,
        spec: { selector: { app: "web" }, ports: [{ name: "http", port: 8000 }] },
      },
    ],
    [
      istioKind("VirtualService"),
      {
        ...{ apiVersion: "networking.istio.io/v1", kind: "VirtualService", metadata },
        spec: { hosts: [host], http: [{ timeout: `${1 + (step % 9)}s`, route: [{ destination: { host } }] }] },
      },
    ],
    [
      configMaps,
      { apiVersion: "v1", kind: "ConfigMap", metadata, data: { step: String(step), filling: "x".repeat(2000) } },
    ],
  ];
};

export function startChanges(mesh: ChaosMesh, stepMs: number): Changes {
  const { api } = mesh;
  const stop = new AbortController();
  let count = 0;
  const remove = async (name: string): Promise<void> => {
    for (const [kind, { metadata }] of objectsOf(name, 0)) await api.delete(kind, metadata).catch(() => {});
  };
  /** Each name is made, and taken back half a round later. */
  const step = async (i: number): Promise<void> => {
    for (const [kind, object] of objectsOf(`soak-${i % names}`, i)) await api.create(kind, object).catch(() => {});
    await remove(`soak-${(i + names / 2) % names}`);
    if (i % 5 === 0) await setGeneration(api, `s${i}`).catch(() => {});
    if (i % 10 === 0) await dropWatches(api);
    if (i % 3 === 0) await setChurned(api, (await mesh.spareAddresses()).slice(i % 2)).catch(() => {});
    if (i % 300 === 299) killAgent(mesh, await mesh.pod("store-3"));
    count++;
  };
  const run = async (): Promise<void> => {
    for (let i = 0; !stop.signal.aborted; i++) {
      await step(i).catch(() => {});
      await wait(stepMs, stop.signal).catch(() => {});
    }
    for (let i = 0; i < names; i++) await remove(`soak-${i}`);
  };
  const running = run();
  return {
    count: () => count,
    stop() {
      stop.abort();
      return running;
    },
  };
}

/** Watchers that come, look for a moment and go without a word. */
async function dropWatches(api: KubeClient): Promise<void> {
  const leave = new AbortController();
  const { resourceVersion } = await api.list(pods, { namespace: "default" });
  const watch = async (): Promise<void> => {
    for await (const _ of api.watch(pods, { resourceVersion, stallMs: 60_000, signal: leave.signal }));
  };
  const watching = Array.from({ length: 10 }, () => watch().catch(() => {}));
  await wait(50);
  leave.abort();
  await Promise.all(watching);
}

function killAgent(mesh: ChaosMesh, pod: Awaited<ReturnType<ChaosMesh["pod"]>>): void {
  for (const pid of mesh.pids(pod, "agent")) process.kill(pid, "SIGKILL");
}
