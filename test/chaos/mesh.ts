/**
 * Options in; a mesh of twelve workloads out, each joined by `fairlead run` to one `fairlead up`, with a client that asks
 * all of them without pause. Everything is real, and started through the front door.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readNetworkFile } from "../../src/cli/up/mesh-network.ts";
import { createKubeClient, type KubeClient, kubeKinds, loadKubeconfig } from "../../src/kube/index.ts";
import { readRecord, readText, wait } from "../../src/lib/index.ts";
import { type NetworkPlan, podNetworkPath } from "../../src/standalone/index.ts";
import { type Bundles, prepareBundles } from "./bundles.ts";
import { type Collector, createCollector } from "./collector.ts";
import { createDisk, type Disk } from "./disk.ts";
import { loadStreams } from "./load.ts";
import { seedObjects } from "./objects.ts";
import { type Part, partPids } from "./parts.ts";
import { createSupervisor, type Supervisor } from "./supervisor.ts";
import { missingParts } from "./whole.ts";
import { type ChaosWorkload, createWorkload, type WorkloadPlan } from "./workload.ts";

export interface ChaosPod {
  readonly name: string;
  readonly address: string;
  readonly uid: string;
  /** Of its network, for `ip netns`. */
  readonly namespace: string;
}

export interface ChaosMesh {
  readonly dir: string;
  readonly data: string;
  readonly disk: Disk;
  readonly bundles: Bundles;
  readonly supervisor: Supervisor;
  readonly workloads: ReadonlyMap<string, ChaosWorkload>;
  readonly api: KubeClient;
  readonly plan: NetworkPlan;
  readonly load: Collector;
  /** As the API has it now. */
  pod(name: string): Promise<ChaosPod>;
  pids(pod: ChaosPod, part: Part): readonly number[];
  /** What is not as it should be, in words; nothing when the mesh is whole. */
  missing(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export interface MeshOptions {
  /** Between two requests of one worker of the client. */
  readonly pauseMs: number;
  /** What the older bundle is built from. */
  readonly oldCommit?: string;
  readonly say: (text: string) => void;
}

const { pods } = kubeKinds;
const node = (script: string, ...args: readonly string[]): readonly string[] => [
  process.execPath,
  join(import.meta.dirname, script),
  ...args,
];

/** Eleven servers and the client. */
function workloadPlans(socket: string, pauseMs: number): readonly WorkloadPlan[] {
  const quiet = { NODE_NO_WARNINGS: "1" };
  const server = (app: string, count: number, env: Readonly<Record<string, string>> = {}): readonly WorkloadPlan[] =>
    Array.from({ length: count }, (_, i) => ({
      ...{ name: `${app}-${i + 1}`, app, port: 8000 },
      ...{ command: node("server-process.ts"), env: { ...quiet, ...env } },
    }));
  const command = node("load-process.ts", socket, JSON.stringify(loadStreams(pauseMs)));
  return [
    ...server("web", 3),
    ...server("api", 3),
    ...server("store", 3),
    ...server("brief", 2, { SECRET_TTL: "30s" }),
    { name: "client", app: "client", command, env: quiet },
  ];
}

export async function startChaosMesh(options: MeshOptions): Promise<ChaosMesh> {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-chaos-"));
  const disk = createDisk(dir);
  const data = join(disk.path, "mesh");
  const bundles = prepareBundles(dir, options.oldCommit);
  const env = {
    NODE_NO_WARNINGS: "1",
    NODE_OPTIONS: `--import=${join(import.meta.dirname, "clock.mjs")}`,
    FAIRLEAD_CHAOS_CLOCK: join(dir, "clock"),
  };
  const supervisor = createSupervisor({ dir, data, entry: bundles.entry, env });
  const socket = join(dir, "load.sock");
  const workloads = new Map(
    workloadPlans(socket, options.pauseMs).map((plan) => [
      plan.name,
      createWorkload({ dir, data, entry: bundles.entry }, plan),
    ]),
  );
  let api: KubeClient | undefined;
  const close = async (): Promise<void> => {
    await Promise.all([...workloads.values()].map((workload) => workload.stop()));
    await supervisor.stop();
    api?.close();
    disk.remove();
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    await supervisor.start();
    api = createKubeClient(await loadKubeconfig({ paths: [join(data, "kubeconfig")], env: {} }));
    await seedObjects(api);
    const plan = readNetworkFile(data)?.plan;
    if (!plan) throw new Error("the mesh has no network");
    const mesh = meshOf(api, plan);
    for (const workload of workloads.values()) workload.start();
    await untilWhole(mesh, options.say);
    return mesh;
  } catch (error) {
    await close();
    throw error;
  }

  function meshOf(api: KubeClient, plan: NetworkPlan): ChaosMesh {
    return {
      ...{ dir, data, disk, bundles, supervisor, workloads, api, plan, close },
      load: createCollector(socket),
      async pod(name) {
        const found = await api.get(pods, { name, namespace: "default" });
        const uid = found.metadata.uid ?? "";
        const namespace = podNetworkPath(plan, uid).split("/").at(-1) ?? "";
        return { name, uid, namespace, address: readText(readRecord(found.status).podIP) };
      },
      pids: (pod, part) => partPids(pod.namespace, part),
      missing: () => missingParts(api, supervisor.addresses(), [...workloads.keys()]),
    };
  }
}

const startMs = 180_000;

async function untilWhole(mesh: ChaosMesh, say: (text: string) => void): Promise<void> {
  const deadline = performance.now() + startMs;
  for (let told = ""; ; await wait(200)) {
    const missing = await mesh.missing();
    if (missing.length === 0) return;
    if (performance.now() > deadline) throw new Error(`the mesh did not start: ${missing.join("; ")}`);
    const text = `${missing.length} parts are not there yet`;
    if (text !== told) say(text);
    told = text;
  }
}
