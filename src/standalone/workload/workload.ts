/**
 * One line of `fairlead run` in; a Pod in the API, with its own network namespace, agent, Envoy and process, out. The
 * same code serves the demo's workloads and its gateway. As a kubelet would, it keeps the Pod's processes running and
 * tells the API how they are.
 */
import { FairleadError } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { createDialer } from "../kubelet/dialer.ts";
import type { Spawn } from "../kubelet/exec.ts";
import { servePod } from "../kubelet/pod-server.ts";
import { processesInNetwork } from "../kubelet/process-table.ts";
import { createPodNetwork, podNetworkId } from "../network/pod-network.ts";
import { type Containers, startContainers } from "./containers.ts";
import { prepareFiles } from "./files.ts";
import { appContainer, createPod, ensureAccount, keepPod, proxyContainer, waitForAddress } from "./pod.ts";
import { capture, execIn, type PodPlace, spawnBeside } from "./process.ts";
import { proxyUser, type Undo, type WorkloadHost, type WorkloadSpec } from "./spec.ts";

export interface Workload {
  readonly address: string;
  /** Resolves when all its containers are ready; rejects with what is missing when they are not in time. */
  ready(timeoutMs: number): Promise<void>;
  /** Resolves with the exit code when the process has ended for good, or with "deleted" when its Pod was. */
  readonly ended: Promise<number | "deleted">;
  /** Runs a command as the workload would, beside its process; its traffic goes through the sidecar. */
  exec(command: readonly string[]): Promise<{ readonly status: number | string; readonly output: string }>;
  stop(): Promise<void>;
}

export async function startWorkload(host: WorkloadHost, spec: WorkloadSpec, signal: AbortSignal): Promise<Workload> {
  const undo: Undo = [];
  let stopping: Promise<void> | undefined;
  const takeBack = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse())
      await step().catch((error: unknown) => host.log.warn(`${spec.name}: ${FairleadError.from(error).message}`));
  };
  const stop = (): Promise<void> => {
    stopping ??= takeBack();
    return stopping;
  };
  try {
    await ensureAccount(host, spec);
    const pod = await createPod(host, spec, undo);
    const deleted = keepPod(host, spec, pod.metadata.uid ?? "", undo);
    const place = await makePlace(host, spec, pod, undo, signal);
    const containers = startContainers(host, spec, pod, place);
    undo.push(containers.stop);
    await serve(host, spec, pod, place, containers, undo);
    // As with a kubelet, whoever deletes the Pod ends its processes.
    const ended = Promise.race([containers.ended, deleted]).then(async (why) => {
      if (why === "deleted") await stop();
      return why;
    });
    return {
      address: place.address,
      ready: (timeoutMs) => containers.ready(AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])),
      ended,
      exec: (command) => execIn(host, place, command),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A workload whose streams cannot be served, as on a full disk, does its work all the same. */
async function serve(
  host: WorkloadHost,
  spec: WorkloadSpec,
  pod: KubeObject,
  place: PodPlace,
  containers: Containers,
  undo: Undo,
): Promise<void> {
  const dialer = createDialer(place.network.path);
  undo.push(async () => dialer.close());
  try {
    const { uid = "", name } = pod.metadata;
    const spawner = (container: string): Spawn | undefined => {
      const log = containers.log(container);
      const beside = container === proxyContainer ? "proxy" : "app";
      return log === undefined || log === "none"
        ? undefined
        : (command) => spawnBeside(host, spec, place, beside, command);
    };
    const processes = (): ReadonlyMap<string, readonly number[]> => processesOf(place);
    const hosted = { uid, name, connect: dialer.connect, log: containers.log, spawner, processes };
    const server = await servePod(host.podDir, hosted, host.log);
    undo.push(server.close);
  } catch (error) {
    host.log.warn(`${pod.metadata.name}: kubectl cannot reach into it: ${FairleadError.from(error).message}`);
  }
}

/** By user: all that runs as the proxy's is the proxy's, an Envoy whose agent has ended too. */
function processesOf({ network }: PodPlace): ReadonlyMap<string, readonly number[]> {
  const groups = Map.groupBy(processesInNetwork(network.path), ({ uid }) =>
    uid === proxyUser ? proxyContainer : appContainer,
  );
  return new Map([...groups].map(([name, group]) => [name, group.map(({ pid }) => pid)]));
}

async function makePlace(
  host: WorkloadHost,
  spec: WorkloadSpec,
  pod: KubeObject,
  undo: Undo,
  signal: AbortSignal,
): Promise<PodPlace> {
  const uid = pod.metadata.uid ?? spec.name;
  const id = podNetworkId(uid);
  const address = await waitForAddress(host, spec, signal);
  const network = await createPodNetwork(host.plan, host.journal, { id, address });
  undo.push(() => network.remove());
  const files = await prepareFiles(host, pod, uid, id, undo, signal);
  const place = { network, files, address };
  await capture(host, place, pod);
  return place;
}
