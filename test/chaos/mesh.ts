/**
 * Options in; a mesh of twelve workloads out, each joined by `fairlead run` to one `fairlead up`, with a client that asks
 * all of them without pause. Everything is real, and started through the front door.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readNetworkFile } from "../../src/cli/up/mesh-network.ts";
import { createKubeClient, type KubeClient, kubeKinds, loadKubeconfig } from "../../src/kube/index.ts";
import { readRecord, readText } from "../../src/lib/index.ts";
import { type NetworkPlan, podNetworkPath } from "../../src/standalone/index.ts";
import { unlessStopped } from "../stop.ts";
import { eventually } from "../traffic/mesh.ts";
import { type Bundles, prepareBundles } from "./bundles.ts";
import { type Collector, createCollector } from "./collector.ts";
import { createDisk, type Disk } from "./disk.ts";
import { loadStreams } from "./load.ts";
import { seedObjects, setChurned } from "./objects.ts";
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
  /** Names of those that a fault may be done to. */
  readonly servers: readonly string[];
  /** Addresses of the servers that the Service without a selector leads to. */
  spareAddresses(): Promise<readonly string[]>;
  /** As the API has it now. */
  pod(name: string): Promise<ChaosPod>;
  pids(pod: ChaosPod, part: Part): readonly number[];
  /** What is not as it should be, in words; nothing when the mesh is whole. `names`: of the workloads, these alone. */
  missing(names?: readonly string[]): Promise<readonly string[]>;
  /** One fault's damage is not the next one's: starts again what has ended, and waits until the mesh is whole. */
  repair(): Promise<void>;
  close(): Promise<void>;
}

export interface App {
  readonly name: string;
  readonly count: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** Eleven servers, and the client makes twelve. */
export const twelve: readonly App[] = [
  { name: "web", count: 3 },
  { name: "api", count: 3 },
  { name: "store", count: 3 },
  { name: "brief", count: 2, env: { SECRET_TTL: "30s" } },
];

export interface MeshOptions {
  readonly apps: readonly App[];
  /** Between two requests of one worker of the client. */
  readonly pauseMs: number;
  readonly clientEnv?: Readonly<Record<string, string>>;
  /** What the older bundle is built from. */
  readonly oldCommit?: string;
  /** For `up` and what it starts. */
  readonly nodeOptions?: string;
  readonly say: (text: string) => void;
  /** Ends the start too, and leaves nothing. */
  readonly stop?: AbortSignal;
}

const { pods } = kubeKinds;
const node = (script: string, ...args: readonly string[]): readonly string[] => [
  process.execPath,
  join(import.meta.dirname, script),
  ...args,
];

function workloadPlans(socket: string, { apps, pauseMs, clientEnv }: MeshOptions): readonly WorkloadPlan[] {
  const quiet = { NODE_NO_WARNINGS: "1" };
  const servers = apps.flatMap(({ name: app, count, env }) =>
    Array.from({ length: count }, (_, i) => ({
      ...{ name: `${app}-${i + 1}`, app, port: 8000 },
      ...{ command: node("server-process.ts"), env: { ...quiet, ...env } },
    })),
  );
  const streams = loadStreams(
    apps.map(({ name }) => name),
    pauseMs,
  );
  const command = node("load-process.ts", socket, JSON.stringify(streams));
  return [...servers, { name: clientName, app: clientName, command, env: { ...quiet, ...clientEnv } }];
}

export async function startChaosMesh(options: MeshOptions): Promise<ChaosMesh> {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-chaos-"));
  const disk = createDisk(dir);
  const data = join(disk.path, "mesh");
  const bundles = prepareBundles(dir, options.oldCommit, options.say);
  const env = {
    NODE_NO_WARNINGS: "1",
    NODE_OPTIONS: `--import=${join(import.meta.dirname, "inside.mjs")} ${options.nodeOptions ?? ""}`,
    FAIRLEAD_CHAOS: dir,
  };
  const supervisor = createSupervisor({ dir, data, entry: bundles.entry, env });
  const socket = join(dir, "load.sock");
  const workloads = new Map(
    workloadPlans(socket, options).map((plan) => [
      plan.name,
      createWorkload({ dir, data, entry: bundles.entry }, plan),
    ]),
  );
  let api: KubeClient | undefined;
  const close = async (): Promise<void> => {
    await Promise.all([...workloads.values()].map((workload) => workload.stop()));
    await supervisor.stop();
    api?.close();
    removeLeftovers(bundles.entry, data);
    disk.remove();
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    await unlessStopped(supervisor.start(), options.stop);
    options.say(`it runs in ${dir}`);
    api = createKubeClient(await loadKubeconfig({ paths: [join(data, "kubeconfig")], env: {} }));
    await seedObjects(
      api,
      options.apps.map(({ name }) => name),
    );
    const plan = readNetworkFile(data)?.plan;
    if (!plan) throw new Error("the mesh has no network");
    const mesh = meshOf(api, plan);
    await unlessStopped(startInTurns(mesh, options), options.stop);
    return mesh;
  } catch (error) {
    await close();
    throw error;
  }

  function meshOf(api: KubeClient, plan: NetworkPlan): ChaosMesh {
    const names = (of: (app: string) => boolean): readonly string[] =>
      [...workloads.values()].map((one) => one.plan).flatMap(({ app, name }) => (of(app) ? [name] : []));
    const pod = async (name: string): Promise<ChaosPod> => {
      const found = await api.get(pods, { name, namespace: "default" });
      const uid = found.metadata.uid ?? "";
      const namespace = podNetworkPath(plan, uid).split("/").at(-1) ?? "";
      return { name, uid, namespace, address: readText(readRecord(found.status).podIP) };
    };
    const missing = (wanted: readonly string[] = [...workloads.keys()]): Promise<readonly string[]> =>
      missingParts(api, supervisor.addresses(), wanted);
    const spare = options.apps.find(({ name }) => name === "api") ?? options.apps[0];
    return {
      ...{ dir, data, disk, bundles, supervisor, workloads, api, plan, pod, close },
      load: createCollector(socket),
      servers: names((app) => app !== clientName && app !== "brief"),
      spareAddresses: async () =>
        (await Promise.all(names((app) => app === spare?.name).map(pod))).map(({ address }) => address),
      pids: (of, part) => partPids(of.namespace, part),
      missing,
      async repair() {
        for (const workload of workloads.values()) if (workload.hasEnded()) workload.start();
        await eventually(async () => (await missing()).length === 0, "the mesh to be whole", startMs);
      },
    };
  }
}

/** Whoever was killed and not started again has left its children, and maybe a network. */
function removeLeftovers(entry: string, data: string): void {
  try {
    execFileSync(process.execPath, [entry, "down", "--data", data], { stdio: "ignore" });
  } catch {
    // There is no such folder yet, or somebody is alive after all: nothing more can be done here.
  }
}

const startMs = 180_000;
/** All at once would keep each other from their deadlines on a small machine. */
const atOnce = 4;

/** The client comes last, when all that it asks is there. */
async function startInTurns(mesh: ChaosMesh, { say, stop }: MeshOptions): Promise<void> {
  const servers = [...mesh.workloads.keys()].filter((name) => name !== clientName);
  const start = async (turn: readonly string[]): Promise<void> => {
    stop?.throwIfAborted();
    for (const name of turn) mesh.workloads.get(name)?.start();
    await eventually(async () => (await mesh.missing(turn)).length === 0, `${turn.join(", ")} to start`, startMs);
    say(`${turn.join(", ")} ${turn.length > 1 ? "are" : "is"} ready`);
  };
  for (let i = 0; i < servers.length; i += atOnce) await start(servers.slice(i, i + atOnce));
  await setChurned(mesh.api, await mesh.spareAddresses());
  await start([clientName]);
}

const clientName = "client";
