/**
 * The control plane's process, which `fairlead up` runs, in; its Deployment and its Pod `istiod` in the API, with a
 * kubelet's word on it, out. istioctl, Kiali and people look for the control plane there. Whoever deletes the Pod has it
 * started again, as in a cluster.
 */
import { createEventRecorder, type KindRef, type KubeClient, kubeKinds } from "../kube/index.ts";
import { FairleadError, type Logger, wait } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { ignoreMissing } from "./endpoint-slices.ts";
import { nodeName, ownAnnotation, pods, serviceAccounts } from "./kinds.ts";
import { type PodServer, servePod } from "./kubelet/pod-server.ts";
import type { Connect } from "./kubelet/port-forward.ts";
import type { ContainerLog } from "./log/container-log.ts";
import type { ContainerStatus } from "./workload/container-state.ts";
import { type PodStatus, podStatus } from "./workload/pod-status.ts";

export interface ControlPlanePodOptions {
  readonly client: KubeClient;
  readonly log: Logger;
  readonly now: () => Date;
  readonly random: () => number;
  /** Folder of the sockets by which the API reaches Pods. */
  readonly podDir: string;
  /** Where it is reached by others. */
  readonly address: string;
  readonly image: string;
  readonly ports: readonly number[];
  readonly connect: Connect;
  readonly output: ContainerLog;
  /** How its process is. */
  readonly look: () => ProcessStatus;
  readonly pid: () => number;
  readonly restart: () => Promise<void>;
}

export type ProcessStatus = Omit<ContainerStatus, "name" | "problem">;

const ref = { name: "istiod", namespace: "istio-system" };
const container = "discovery";
const labels = {
  ...{ app: "istiod", istio: "pilot", "istio.io/rev": "default" },
  ...{ "operator.istio.io/component": "Pilot", "sidecar.istio.io/inject": "false" },
};
const selector = { app: "istiod", istio: "pilot" };
const lookMs = 1_000;

/** Resolves when the Pod is there, with what ends its keeping. */
export async function keepControlPlanePod(options: ControlPlanePodOptions): Promise<() => Promise<void>> {
  // One of an earlier `up` is another Pod.
  await options.client.delete(pods, ref, { gracePeriodSeconds: 0 }).catch(ignoreMissing);
  const keeper = createKeeper(options);
  await keeper.look();
  const stop = new AbortController();
  const keeping = keep(options, keeper, stop.signal);
  return async () => {
    stop.abort();
    await keeping;
    await keeper.close();
  };
}

interface Keeper {
  look(): Promise<void>;
  close(): Promise<void>;
}

async function keep({ log }: ControlPlanePodOptions, keeper: Keeper, signal: AbortSignal): Promise<void> {
  let isTold = false;
  while (!signal.aborted)
    try {
      await wait(lookMs, signal);
      await keeper.look();
      isTold = false;
    } catch (error) {
      // While the API is away there is nobody to tell.
      if (!signal.aborted && !isTold) log.debug(`Pod istiod: ${FairleadError.from(error).message}`);
      isTold = true;
    }
}

function createKeeper(options: ControlPlanePodOptions): Keeper {
  const { client, podDir, connect, log, output } = options;
  const events = createEventRecorder({ ...options, component: "fairlead-up", host: nodeName });
  let [server, uid, told]: [PodServer | undefined, string, PodStatus | undefined] = [undefined, "", undefined];
  const replace = async (): Promise<void> => {
    await server?.close();
    server = undefined;
    await ensureOthers(options);
    const pod = await client.create(pods, podObject(options)).catch((error: unknown) => {
      if (error instanceof FairleadError && error.code === "already-exists") return undefined;
      throw error;
    });
    if (!pod) return;
    [uid, told] = [pod.metadata.uid ?? "", undefined];
    events.record(pod, "Normal", "Started", `Started container ${container}`);
    // Its process has no place of its own: a command beside it would run on the machine itself.
    const processes = (): ReadonlyMap<string, readonly number[]> => new Map([[container, [options.pid()]]]);
    const hosted = { uid, name: ref.name, connect, log: () => output, spawner: () => undefined, processes };
    server = await servePod(podDir, hosted, log);
  };
  return {
    async look() {
      const pod = await client.find(pods, ref);
      const isDeleted = pod?.metadata.deletionTimestamp !== undefined;
      if (isDeleted) await client.delete(pods, ref, { gracePeriodSeconds: 0 }).catch(ignoreMissing);
      if (uid !== "" && (isDeleted || pod === undefined)) await options.restart();
      if (isDeleted || pod?.metadata.uid !== uid) await replace();
      const status = statusOf(options, told);
      if (JSON.stringify(status) === JSON.stringify(told)) return;
      await client.patchStatus(pods, ref, { ...status, ...addressesOf(options) });
      await client.patchStatus(kubeKinds.deployments, ref, deploymentStatus(status)).catch(ignoreMissing);
      told = status;
    },
    async close() {
      await server?.close();
    },
  };
}

function statusOf({ look, now }: ControlPlanePodOptions, told: PodStatus | undefined): PodStatus {
  const startTime = told ? new Date(told.startTime) : now();
  const containers = [{ ...look(), name: container, problem: "" }];
  return podStatus({ containers, initNames: [], startTime, ending: false, exitCode: undefined, now: now() }, told);
}

function addressesOf({ address }: ControlPlanePodOptions): object {
  return { hostIP: address, hostIPs: [{ ip: address }], podIP: address, podIPs: [{ ip: address }] };
}

function deploymentStatus({ conditions }: PodStatus): object {
  const ready = conditions.find(({ type }) => type === "Ready");
  const count = ready?.status === "True" ? 1 : 0;
  const reason = count === 1 ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable";
  const times = { lastUpdateTime: ready?.lastTransitionTime, lastTransitionTime: ready?.lastTransitionTime };
  return {
    ...{ observedGeneration: 1, replicas: 1, updatedReplicas: 1 },
    ...{ readyReplicas: count, availableReplicas: count, unavailableReplicas: 1 - count },
    conditions: [{ type: "Available", status: count === 1 ? "True" : "False", reason, ...times }],
  };
}

/** The account and the Deployment, where nobody has made them. */
async function ensureOthers(options: ControlPlanePodOptions): Promise<void> {
  const account: KubeObject = { apiVersion: "v1", kind: "ServiceAccount", metadata: ref };
  await ensure(options.client, serviceAccounts, account);
  await ensure(options.client, kubeKinds.deployments, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { ...ref, labels },
    spec: {
      replicas: 1,
      selector: { matchLabels: selector },
      template: { metadata: { labels }, spec: podSpec(options) },
    },
  });
}

async function ensure(client: KubeClient, kind: KindRef, object: KubeObject): Promise<void> {
  if (await client.find(kind, ref)) return;
  await client.create(kind, object).catch((error: unknown) => {
    if (!(error instanceof FairleadError) || error.code !== "already-exists") throw error;
  });
}

function podObject(options: ControlPlanePodOptions): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...ref, labels, annotations: { [ownAnnotation]: "control-plane" } },
    spec: { ...podSpec(options), nodeName },
  };
}

function podSpec({ image, ports }: ControlPlanePodOptions): object {
  return {
    serviceAccountName: ref.name,
    hostNetwork: true,
    containers: [
      {
        ...{ name: container, image, args: [container] },
        ports: ports.map((containerPort) => ({ containerPort, protocol: "TCP" })),
      },
    ],
  };
}
