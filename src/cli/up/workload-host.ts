/** A running mesh in; what is needed to run workloads in it out. */
import { join } from "node:path";
import type { KubeClient } from "../../kube/index.ts";
import { FairleadError, type Logger } from "../../lib/index.ts";
import { createRuntimeDir, type Journal, type NetworkPlan, type WorkloadHost } from "../../standalone/index.ts";
import type { Io } from "../command.ts";
import { selfCommand } from "../self.ts";

export interface HostOptions {
  readonly client: KubeClient;
  readonly plan: NetworkPlan;
  readonly journal: Journal;
  readonly discoveryAddress: string;
  readonly io: Io;
  readonly log: Logger;
  /** The data folder. */
  readonly dir: string;
  readonly echo?: (source: string, text: string) => void;
}

export function createWorkloadHost(options: HostOptions): WorkloadHost {
  const envoy = options.io.env.FAIRLEAD_ENVOY;
  if (!envoy)
    throw new FairleadError("missing-tool", "no Envoy was found", {
      hint: "put one on the PATH, or name it in FAIRLEAD_ENVOY; from a checkout `./fairlead` fetches one",
    });
  return {
    client: options.client,
    plan: options.plan,
    journal: options.journal,
    runtime: createRuntimeDir(options.plan, options.journal, String(process.pid), { fairlead: selfCommand(), envoy }),
    discoveryAddress: options.discoveryAddress,
    domain: "cluster.local",
    log: options.log,
    logDir: logFolder(options.dir),
    podDir: podFolder(options.dir),
    ...(options.echo ? { echo: options.echo } : {}),
    now: () => new Date(),
    random: Math.random,
  };
}

/** Where each container's output lies, as NAMESPACE/POD/CONTAINER.log. */
export function logFolder(dir: string): string {
  return join(dir, "logs");
}

/** Where the API finds the sockets of the Pods that run on this machine. */
export function podFolder(dir: string): string {
  return join(dir, "run", "pods");
}
