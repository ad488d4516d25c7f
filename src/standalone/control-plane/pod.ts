/**
 * The control plane's process, which `fairlead up` runs, in; its Deployment and its Pod `istiod` in the API, with a
 * kubelet's word on it, out. istioctl, Kiali and people look for the control plane there. Whoever deletes the Pod, or
 * restarts the Deployment, has it started again, as in a cluster.
 */
import { createEventRecorder, type KubeClient } from "../../kube/index.ts";
import { FairleadError, type Logger, wait } from "../../lib/index.ts";
import { type KubeObject, type OwnerReference, ownPart } from "../../model/index.ts";
import { ignoreMissing } from "../endpoint-slices.ts";
import { nodeName, pods } from "../kinds.ts";
import { type PodServer, servePod } from "../kubelet/pod-server.ts";
import type { Connect } from "../kubelet/port-forward.ts";
import type { ContainerLog } from "../log/container-log.ts";
import type { ContainerStatus } from "../workload/container-state.ts";
import { type PodStatus, podStatus } from "../workload/pod-status.ts";
import {
  ensureReplicaSet,
  labels,
  type ReadyCount,
  readWish,
  ref,
  renewTemplate,
  type Wish,
  writeCounts,
} from "./deployment.ts";

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

const container = "discovery";
/** As `fairlead discovery` calls the cluster where nobody says otherwise. */
const clusterId = "Kubernetes";
const lookMs = 1_000;

/** Resolves when the Pod is there, with what ends its keeping. */
export async function keepControlPlanePod(options: ControlPlanePodOptions): Promise<() => Promise<void>> {
  // One of an earlier `up` is another Pod.
  await options.client.delete(pods, ref, { gracePeriodSeconds: 0 }).catch(ignoreMissing);
  await renewTemplate(options.client, podSpec(options));
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

/** The Pod that is there, and what it was made from. */
interface Shown {
  readonly uid: string;
  readonly template: string;
  /** The ReplicaSet's name. */
  readonly set: string;
}

function createKeeper(options: ControlPlanePodOptions): Keeper {
  const { client, podDir, connect, log, output } = options;
  const events = createEventRecorder({ ...options, component: "fairlead-up", host: nodeName });
  const spec = podSpec(options);
  let [server, shown, told]: [PodServer | undefined, Shown, string] = [
    undefined,
    { uid: "", template: "", set: "" },
    "",
  ];
  let status: PodStatus | undefined;
  /** No Pod has stood for this process yet: whoever wants another Pod gets one without a restart. */
  let isNew = true;
  const replace = async (wish: Wish): Promise<void> => {
    await server?.close();
    server = undefined;
    await client.delete(pods, ref, { gracePeriodSeconds: 0 }).catch(ignoreMissing);
    const owner = await ensureReplicaSet(client, wish, spec);
    const pod = await client.create(pods, podObject(options, wish, owner));
    const uid = pod.metadata.uid ?? "";
    [shown, status, told, isNew] = [{ uid, template: wish.template, set: owner.name }, undefined, "", false];
    events.record(pod, "Normal", "Started", `Started container ${container}`);
    // Its process has no place of its own: a command beside it would run on the machine itself.
    const processes = (): ReadonlyMap<string, readonly number[]> => new Map([[container, [options.pid()]]]);
    const hosted = { uid, name: ref.name, connect, log: () => output, spawner: () => undefined, processes };
    server = await servePod(podDir, hosted, log);
  };
  return {
    async look() {
      const wish = await readWish(client, spec, events);
      const pod = await client.find(pods, ref);
      const isThere = pod?.metadata.uid === shown.uid && pod.metadata.deletionTimestamp === undefined;
      if (!isThere || wish.template !== shown.template) {
        if (!isNew) {
          await writeCounts(client, wish, "", { updated: 0, ready: 0, since: options.now().toISOString() });
          await options.restart();
          isNew = true;
        }
        await replace(wish);
      }
      status = statusOf(options, status);
      const now = JSON.stringify([status, wish]);
      if (now === told) return;
      await client.patchStatus(pods, ref, { ...status, ...addressesOf(options) });
      await writeCounts(client, wish, shown.set, countOf(status));
      told = now;
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

function countOf({ conditions }: PodStatus): ReadyCount {
  const ready = conditions.find(({ type }) => type === "Ready");
  return { updated: 1, ready: ready?.status === "True" ? 1 : 0, since: ready?.lastTransitionTime ?? "" };
}

function podObject(
  options: ControlPlanePodOptions,
  { template, annotations }: Wish,
  owner: OwnerReference,
): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...ref,
      labels: { ...labels, "pod-template-hash": template.slice(0, 10) },
      annotations: { ...annotations, [ownPart]: "control-plane" },
      ownerReferences: [owner],
    },
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
        // By these Kiali finds which cluster and revision it is of.
        env: [
          { name: "CLUSTER_ID", value: clusterId },
          { name: "REVISION", value: "default" },
          { name: "POD_NAMESPACE", value: ref.namespace },
        ],
        ports: ports.map((containerPort) => ({ containerPort, protocol: "TCP" })),
      },
    ],
  };
}
