/** Options in; the standalone mesh running (API, controllers, control plane, mesh network) out, or nothing at all. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { controlPlaneUser } from "../../apiserver/index.ts";
import { createEventRecorder, createKubeClient, type KubeClient } from "../../kube/index.ts";
import { FairleadError, type Logger, ownerOf } from "../../lib/index.ts";
import {
  endJournal,
  type Journal,
  type NetworkPlan,
  openJournal,
  type PlanOptions,
  removeAllButRunners,
  removeAtEnd,
  standaloneKinds,
  sweepAbandoned,
  takeTurn,
} from "../../standalone/index.ts";
import { formatAddress, type ListenAddress } from "../listen-address.ts";
import { startApi } from "./api-child.ts";
import { choosePlan } from "./choose-plan.ts";
import { startControlPlane } from "./control-plane-child.ts";
import { showControlPlane } from "./control-plane-pod.ts";
import { startControllers } from "./controllers.ts";
import { ensureDashboardSecret } from "./dashboard-url.ts";
import { type DataDir, openDataDir } from "./data-dir.ts";
import { giveDataToUser } from "./data-owner.ts";
import { startEdge } from "./edge-child.ts";
import { type MeshNetwork, openMeshNetwork, readNetworkFile } from "./mesh-network.ts";
import { seedApi, seedWebhooks, waitForWebhooks } from "./seed.ts";
import type { Supervised, SupervisedOptions } from "./supervised.ts";

export interface MeshOptions {
  readonly dataDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly api: ListenAddress;
  readonly addresses: ReadonlyMap<string, ListenAddress>;
  readonly podCidr?: string;
  readonly serviceCidr?: string;
  /** Whether Pods reach addresses and names outside, through this machine. */
  readonly outside: boolean;
  /** Asked about names outside instead of this machine's own servers. */
  readonly dnsUpstream?: ListenAddress;
  /** Addresses of this machine that lead to Services, by name. */
  readonly ways: ReadonlyMap<string, { readonly listen: ListenAddress; readonly service: string }>;
  /** Without it a mesh network that cannot be made is only said. */
  readonly needsNetwork: boolean;
  /** Whether objects may be applied from the page. */
  readonly dashboardEdit: boolean;
  readonly fairlead: readonly string[];
  readonly logLevels: string | undefined;
  readonly log: Logger;
  readonly line: (source: string, text: string) => void;
  /** Ends the start between two steps; what was made is taken back. */
  readonly signal: AbortSignal;
}

export interface StandaloneMesh {
  readonly dir: string;
  readonly kubeconfig: string;
  readonly client: KubeClient;
  readonly plan: NetworkPlan;
  readonly journal: Journal;
  readonly addresses: ReadonlyMap<string, string>;
  /** `host:port` of the control plane as Pods reach it; undefined without a mesh network. */
  readonly discoveryAddress: string | undefined;
  controlPlanePid(): number;
  stop(): Promise<void>;
}

const domain = "cluster.local";
const publishAgainMs = 5_000;

type Undo = (() => Promise<void> | void)[];

export async function startStandaloneMesh(options: MeshOptions): Promise<StandaloneMesh> {
  const undo: Undo = [];
  const stop = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse())
      await Promise.resolve(step()).catch((error: unknown) => options.log.warn(String(error)));
  };
  try {
    return await start(options, undo, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

async function openChosenNetwork(
  options: MeshOptions,
  data: DataDir,
  ranges: Pick<PlanOptions, "podCidr" | "serviceCidr">,
): Promise<{ readonly plan: NetworkPlan; readonly network: MeshNetwork | undefined }> {
  const { needsNetwork: isNeeded, outside, log, signal } = options;
  const turn = await takeTurn({ log, signal });
  try {
    const plan = await choosePlan({ dataDir: data.path, ...ranges }, readNetworkFile(data.path)?.plan, log);
    return { plan, network: await openMeshNetwork({ data, plan, isNeeded, outside, log }) };
  } finally {
    turn.end();
  }
}

async function start(options: MeshOptions, undo: Undo, stop: () => Promise<void>): Promise<StandaloneMesh> {
  const { log } = options;
  const data = openDataDir(options.dataDir, options.env);
  undo.push(() => data.unlock());
  undo.push(() => giveDataToUser(data.path, options.env));
  await ensureDashboardSecret(data.path);
  const journal = await openOwnJournal(data, log, undo);
  const ranges = {
    ...(options.podCidr === undefined ? {} : { podCidr: options.podCidr }),
    ...(options.serviceCidr === undefined ? {} : { serviceCidr: options.serviceCidr }),
  };
  const { plan, network } = await openChosenNetwork(options, data, ranges);
  const api = await openApi(options, { data, journal, publish }, undo);
  const controllers = await startControllers(api.client, plan, log.scope("standalone"));
  undo.push(() => controllers.close());
  options.signal.throwIfAborted();
  const addresses = new Map(api.child.addresses);
  const children = await startChildren(options, { data, api, journal, network, publish }, undo);
  for (const child of children) for (const [name, address] of child.addresses) addresses.set(name, address);
  const [plane, edge] = children;
  let isWhole = false;
  let publishAgain: NodeJS.Timeout | undefined;
  undo.push(() => clearTimeout(publishAgain));
  function publish(): void {
    if (!isWhole) return;
    const pids = { apiPid: api.child.pid(), controlPlanePid: plane?.pid(), edgePid: edge?.pid() };
    const restarts = { api: api.child.restarts(), controlPlane: plane?.restarts(), edge: edge?.restarts() };
    const content = { ...Object.fromEntries(addresses), ...pids, restarts };
    try {
      data.write("addresses.json", `${JSON.stringify(content, null, 2)}\n`);
    } catch (error) {
      // Others read old process ids until then; to end for that would leave the mesh without its keeper.
      log.warn(`addresses.json cannot be written: ${FairleadError.from(error).message}`);
      clearTimeout(publishAgain);
      publishAgain = setTimeout(publish, publishAgainMs).unref();
    }
  }
  await seedWebhooks(api.client, addresses.get("https") ?? "");
  await waitForWebhooks(api.client);
  isWhole = true;
  publish();
  if (plane) await showPlane(options, { api, data, plane, address: network?.address ?? "127.0.0.1" }, undo);
  sweep(data, api.client, log, undo);
  return {
    dir: data.path,
    kubeconfig: api.kubeconfig,
    client: api.client,
    plan,
    journal,
    addresses,
    discoveryAddress: network?.discoveryAddress,
    controlPlanePid: () => plane?.pid() ?? 0,
    stop,
  };
}

async function showPlane(
  { log }: MeshOptions,
  shown: { readonly api: Api; readonly data: DataDir; readonly plane: Supervised; readonly address: string },
  undo: Undo,
): Promise<void> {
  const { api, data, plane, address } = shown;
  undo.push(await showControlPlane({ client: api.client, log, dir: data.path, plane, address }));
}

/** What an earlier `up` left goes first; what this one leaves goes at its end. */
async function openOwnJournal(data: DataDir, log: Logger, undo: Undo): Promise<Journal> {
  const runDir = join(data.path, "run");
  mkdirSync(runDir, { recursive: true, mode: 0o700 });
  const owner = ownerOf(process.pid) ?? { pid: process.pid, started: "" };
  const journal = openJournal(runDir, `up-${process.pid}`, owner);
  undo.push(async () => {
    await endJournal(journal);
    // The network goes as well, unless processes of `run` use it.
    await removeAtEnd(runDir, log);
  });
  await removeAllButRunners(runDir, log);
  return journal;
}

/** What dead runners left goes when the proxies have heard that their Pods are gone: so not before the mesh is whole. */
function sweep(data: DataDir, client: KubeClient, log: Logger, undo: Undo): void {
  const stop = new AbortController();
  const sweeping = sweepAbandoned({ runDir: join(data.path, "run"), client, log }, stop.signal);
  undo.push(() => {
    stop.abort();
    return sweeping;
  });
}

interface Api {
  readonly child: Supervised;
  readonly client: KubeClient;
  readonly kubeconfig: string;
  /** Of the user that the control plane is. */
  readonly planeKubeconfig: string;
  readonly tellOf: TellOf;
}

/** Of a part of the mesh, by the name that its Events have. */
type TellOf = (part: string) => (reason: string, message: string) => void;

async function openApi(
  options: MeshOptions,
  { data, journal, publish }: Pick<Surroundings, "data" | "journal" | "publish">,
  undo: Undo,
): Promise<Api> {
  let tellOf: TellOf = () => () => {};
  const { child, access, ...files } = await startApi({
    ...watched(options, journal, "api"),
    dir: data.path,
    listen: options.api,
    fairlead: options.fairlead,
    logLevels: options.logLevels,
    restarted: publish,
    tell: (reason, message) => tellOf("fairlead-api")(reason, message),
  });
  undo.push(() => child.stop());
  options.signal.throwIfAborted();
  const client = createKubeClient(access);
  undo.push(() => client.close());
  await seedApi(client, controlPlaneUser);
  tellOf = eventsOf(client, options.log);
  return { child, client, ...files, tellOf };
}

function eventsOf(client: KubeClient, log: Logger): TellOf {
  const now = (): Date => new Date();
  const recorder = createEventRecorder({
    ...{ client, log, now, random: Math.random, component: "fairlead-up", host: standaloneKinds.nodeName },
  });
  return (name) => (reason, message) =>
    recorder.record(
      { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "istio-system" } },
      "Warning",
      reason,
      message,
    );
}

function watched(
  options: MeshOptions,
  journal: Journal,
  source: string,
): Pick<SupervisedOptions, "journal" | "log" | "line" | "random" | "signal"> {
  const { log, signal } = options;
  return { journal, log, line: (text) => options.line(source, text), random: Math.random, signal };
}

interface Surroundings {
  readonly data: DataDir;
  readonly api: Api;
  readonly journal: Journal;
  readonly network: MeshNetwork | undefined;
  readonly publish: () => void;
}

/** The control plane first. */
async function startChildren(
  options: MeshOptions,
  { data, api, journal, network, publish }: Surroundings,
  undo: Undo,
): Promise<readonly Supervised[]> {
  const common = {
    ...{ dir: data.path, kubeconfig: api.planeKubeconfig, domain, fairlead: options.fairlead },
    restarted: publish,
  };
  const starting = [
    startControlPlane({
      ...common,
      ...watched(options, journal, "control-plane"),
      tell: api.tellOf("istiod"),
      addresses: options.addresses,
      meshAddress: network?.discoveryAddress,
      editKubeconfig: options.dashboardEdit ? api.kubeconfig : undefined,
      logLevels: options.logLevels,
    }),
    ...(network
      ? [
          startEdge({
            ...common,
            ...watched(options, journal, "edge"),
            tell: api.tellOf("fairlead-edge"),
            dnsAddress: { host: network.address, port: 53 },
            dnsUpstream: options.dnsUpstream
              ? formatAddress(options.dnsUpstream)
              : network.hasWayOut
                ? "system"
                : undefined,
            ways: options.ways,
          }),
        ]
      : []),
  ];
  const started = await Promise.allSettled(starting);
  const children = started.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  undo.push(async () => void (await Promise.all(children.map((child) => child.stop()))));
  for (const result of started) if (result.status === "rejected") throw result.reason;
  return children;
}
