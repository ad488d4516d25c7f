/** Options in; the standalone mesh running (API, controllers, control plane, mesh network) out, or nothing at all. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { adminUser, controlPlane, createApiServer } from "../../apiserver/index.ts";
import { createKubeClient, type KubeClient, loadKubeconfig } from "../../kube/index.ts";
import type { Logger } from "../../lib/index.ts";
import {
  createClusterDns,
  endJournal,
  type Journal,
  type NetworkPlan,
  openJournal,
  ownerOf,
  planNetwork,
  removeLeftovers,
} from "../../standalone/index.ts";
import type { ListenAddress } from "../listen-address.ts";
import { startControlPlane } from "./control-plane-child.ts";
import { startControllers } from "./controllers.ts";
import { openDataDir } from "./data-dir.ts";
import { openMeshNetwork } from "./mesh-network.ts";
import { seedApi, seedWebhook, waitForWebhook } from "./seed.ts";

export interface MeshOptions {
  readonly dataDir: string;
  readonly api: ListenAddress;
  readonly addresses: ReadonlyMap<string, ListenAddress>;
  readonly podCidr?: string;
  readonly serviceCidr?: string;
  readonly dnsUpstream?: ListenAddress;
  /** Without it a mesh network that cannot be made is only said. */
  readonly needsNetwork: boolean;
  readonly fairlead: readonly string[];
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
  /** Adds an address (the gateway's) to addresses.json. */
  publish(name: string, address: string): void;
  stop(): Promise<void>;
}

const domain = "cluster.local";

export async function startStandaloneMesh(options: MeshOptions): Promise<StandaloneMesh> {
  const undo: (() => Promise<void> | void)[] = [];
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

async function start(
  options: MeshOptions,
  undo: (() => Promise<void> | void)[],
  stop: () => Promise<void>,
): Promise<StandaloneMesh> {
  const { log, signal } = options;
  const data = openDataDir(options.dataDir);
  undo.push(() => data.unlock());
  const plan = planNetwork({
    dataDir: data.path,
    ...(options.podCidr === undefined ? {} : { podCidr: options.podCidr }),
    ...(options.serviceCidr === undefined ? {} : { serviceCidr: options.serviceCidr }),
  });
  const runDir = join(data.path, "run");
  mkdirSync(runDir, { recursive: true, mode: 0o700 });
  const owner = ownerOf(process.pid) ?? { pid: process.pid, started: "" };
  const journal = openJournal(runDir, `up-${process.pid}`, owner);
  undo.push(async () => {
    await endJournal(journal);
    // The network goes as well, unless processes of `run` use it.
    await removeLeftovers(runDir, log);
  });
  await removeLeftovers(runDir, log);

  const api = await createApiServer({
    dataDir: join(data.path, "api"),
    host: options.api.host,
    port: options.api.port,
    now: () => new Date(),
    log: log.scope("api"),
  });
  undo.push(() => api.close());
  signal.throwIfAborted();
  const kubeconfig = join(data.path, "kubeconfig");
  await api.writeKubeconfig(kubeconfig, adminUser);
  const planeKubeconfig = join(runDir, "control-plane.kubeconfig");
  await api.writeKubeconfig(planeKubeconfig, controlPlane);
  const client = createKubeClient(await loadKubeconfig({ paths: [kubeconfig], env: {} }));
  undo.push(() => client.close());
  await seedApi(client, controlPlane.user);

  const controllers = await startControllers(client, plan, domain, log.scope("standalone"));
  undo.push(() => controllers.close());
  signal.throwIfAborted();
  const network = await openMeshNetwork({ data, plan, isNeeded: options.needsNetwork, log });
  if (network !== undefined) {
    const dns = await createClusterDns({
      address: network.address,
      port: 53,
      domain,
      lookup: controllers.lookup,
      ...(options.dnsUpstream ? { upstream: options.dnsUpstream } : {}),
      log: log.scope("dns"),
    });
    undo.push(() => dns.close());
  }

  const addresses = new Map<string, string>([["api", api.address]]);
  const publish = (): void => {
    const content = { ...Object.fromEntries(addresses), controlPlanePid: plane.pid() };
    data.write("addresses.json", `${JSON.stringify(content, null, 2)}\n`);
  };
  const plane = await startControlPlane(
    {
      dir: data.path,
      kubeconfig: planeKubeconfig,
      addresses: options.addresses,
      meshAddress: network?.discoveryAddress,
      domain,
      fairlead: options.fairlead,
      journal,
      log,
      line: (text) => options.line("control-plane", text),
      random: Math.random,
      signal,
    },
    () => publish(),
  );
  undo.push(() => plane.stop());
  for (const [name, address] of plane.addresses) addresses.set(name, address);
  await seedWebhook(client, plane.addresses.get("https") ?? "");
  await waitForWebhook(client);
  publish();
  return {
    dir: data.path,
    kubeconfig,
    client,
    plan,
    journal,
    addresses,
    discoveryAddress: network?.discoveryAddress,
    controlPlanePid: plane.pid,
    publish(name, address) {
      addresses.set(name, address);
      publish();
    },
    stop,
  };
}
