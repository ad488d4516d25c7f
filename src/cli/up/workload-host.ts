/** A running mesh in; what is needed to run workloads in it out. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { KubeClient } from "../../kube/index.ts";
import { FairleadError, type Logger } from "../../lib/index.ts";
import type { Journal, NetworkPlan, WorkloadHost } from "../../standalone/index.ts";
import type { Io } from "../command.ts";
import { selfCommand } from "../self.ts";

export interface HostOptions {
  readonly dir: string;
  readonly client: KubeClient;
  readonly plan: NetworkPlan;
  readonly journal: Journal;
  readonly discoveryAddress: string;
  readonly io: Io;
  readonly log: Logger;
  readonly line: (source: string, text: string) => void;
}

export function createWorkloadHost(options: HostOptions): WorkloadHost {
  const envoy = options.io.env.FAIRLEAD_ENVOY;
  if (!envoy)
    throw new FairleadError("missing-tool", "no Envoy was found", {
      hint: "put one on the PATH, or name it in FAIRLEAD_ENVOY; from a checkout `./fairlead` fetches one",
    });
  const dir = join(options.dir, "run", "pods");
  // Agents run as another user and must be able to reach their own folder below, and nothing else.
  mkdirSync(dir, { recursive: true, mode: 0o711 });
  return {
    client: options.client,
    plan: options.plan,
    journal: options.journal,
    dir,
    discoveryAddress: options.discoveryAddress,
    domain: "cluster.local",
    envoy,
    fairlead: selfCommand(),
    log: options.log,
    line: options.line,
    now: () => new Date(),
  };
}
