/** What a workload is, and what it needs of the mesh that it joins. */
import type { KubeClient } from "../../kube/index.ts";
import type { Logger } from "../../lib/index.ts";
import type { Journal } from "../journal.ts";
import type { NetworkPlan } from "../network/plan.ts";
import type { RuntimeDir } from "../runtime-dir.ts";
import type { RestartPolicy } from "./container-state.ts";

export interface WorkloadSpec {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly serviceAccount: string;
  /** Ports that the process listens on; Ready waits for the first. */
  readonly ports: readonly number[];
  readonly type: "sidecar" | "router";
  /** Empty for a gateway: Envoy is all there is. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** When its process is started again; the proxy always is, for as long as the Pod lives. */
  readonly restartPolicy: RestartPolicy;
}

export interface WorkloadHost {
  readonly client: KubeClient;
  readonly plan: NetworkPlan;
  readonly journal: Journal;
  /** Where agents find Node, the bundle, Envoy and their own folders. */
  readonly runtime: RuntimeDir;
  /** `host:port` of the control plane on the mesh network. */
  readonly discoveryAddress: string;
  readonly domain: string;
  readonly log: Logger;
  /** Folder of the workloads' output. */
  readonly logDir: string;
  /** Folder of the sockets by which the API reaches the Pods that run here. */
  readonly podDir: string;
  /** Is told each line of output as well. */
  readonly echo?: (source: string, text: string) => void;
  readonly now: () => Date;
  readonly random: () => number;
}

/** Things to take back when the workload ends, last made first. */
export type Undo = (() => Promise<void>)[];

/** The user that agent and Envoy run as, exempt from capture; Istio's number. */
export const proxyUser = 1337;
