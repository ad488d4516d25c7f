/**
 * One line of `fairlead run` in; a Pod in the API, with its own network namespace, agent, Envoy and process, out. The
 * same code serves the demo's workloads and its gateway.
 */
import { createPodNetwork, podNetworkId } from "./network.ts";
import type { Running } from "./processes.ts";
import { prepareFiles } from "./workload-files.ts";
import { createPod, ensureAccount, keepPod, markEnding, markReady, waitForAddress } from "./workload-pod.ts";
import { capture, execIn, startAgent, startApp, waitForListen, waitForProxy } from "./workload-process.ts";
import type { Undo, WorkloadHost, WorkloadSpec } from "./workload-spec.ts";

export interface Workload {
  readonly address: string;
  /** Resolves when the process has ended by itself, or with "deleted" when its Pod was. */
  readonly ended: Promise<number | string>;
  /** Runs a command as the workload would, beside its process; its traffic goes through the sidecar. */
  exec(command: readonly string[]): Promise<{ readonly status: number | string; readonly output: string }>;
  stop(): Promise<void>;
}

export async function startWorkload(host: WorkloadHost, spec: WorkloadSpec, signal: AbortSignal): Promise<Workload> {
  const undo: Undo = [];
  let stopping: Promise<void> | undefined;
  const takeBack = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse())
      await step().catch((error: unknown) => host.log.warn(`${spec.name}: ${String(error)}`));
  };
  const stop = (): Promise<void> => {
    stopping ??= takeBack();
    return stopping;
  };
  try {
    await ensureAccount(host, spec);
    const uid = await createPod(host, spec, undo);
    const deleted = keepPod(host, spec, uid, undo);
    const address = await waitForAddress(host, spec, signal);
    const id = podNetworkId(uid);
    const network = await createPodNetwork(host.plan, host.journal, { id, address });
    undo.push(() => network.remove());
    const files = await prepareFiles(host, spec, uid, id, undo, signal);
    if (spec.type === "sidecar") await capture(host, network, files);
    const agent = startAgent(host, spec, network, files, address);
    let app: Running | undefined;
    // The proxy drains while the process still answers what it has accepted.
    undo.push(async () => {
      await agent.stop(10_000);
      await app?.stop(5_000);
    });
    await waitForProxy(agent, address, signal);
    if (spec.command.length > 0) app = startApp(host, spec, network, files);
    if (app) await waitForListen(app, spec, signal);
    await markReady(host, spec);
    undo.push(() => markEnding(host, spec));
    // As with a kubelet, whoever deletes the Pod ends its processes.
    const first = Promise.race([...(app ? [app.exited] : []), agent.exited, deleted]);
    const ended = first.then(async (why) => {
      if (why === "deleted") await stop();
      return why;
    });
    return { address, ended, exec: (command) => execIn(host, network, files, command), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
