/** This machine in; a Node of the API that is ready, with a lease that is renewed, as a kubelet keeps its own, out. */
import { readFileSync } from "node:fs";
import { arch, availableParallelism, platform, release, totalmem } from "node:os";
import { type KubeClient, microTime } from "../kube/index.ts";
import { FairleadError, isRecord, type Logger, wait } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { leases, namespaces, nodeName, nodes } from "./kinds.ts";

export interface NodeOptions {
  readonly client: KubeClient;
  readonly hostAddress: string;
  readonly now: () => Date;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** As a kubelet: the lease often, the status seldom, so that a heartbeat wakes nobody who watches Nodes. */
const renewMs = 10_000;
const renewalsPerStatus = 30;
const leaseRef = { name: nodeName, namespace: "kube-node-lease" };

/** Resolves when the Node is there and ready; goes on until the signal. */
export async function keepNode(options: NodeOptions): Promise<void> {
  const { client, signal } = options;
  const picture = { ...options, since: options.now(), version: await apiVersion(client) };
  const labels = {
    "kubernetes.io/hostname": nodeName,
    "kubernetes.io/os": platform(),
    "kubernetes.io/arch": goArch(),
  };
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: leaseRef.namespace } };
  await client.create(namespaces, namespace).catch(ignoreExisting);
  await client
    .create(nodes, { apiVersion: "v1", kind: "Node", metadata: { name: nodeName, labels } })
    .catch(ignoreExisting);
  await client.create(leases, leaseObject(options)).catch(ignoreExisting);
  await client.patchStatus(nodes, { name: nodeName }, nodeStatus(picture));
  void beat(picture).catch((error: unknown) => {
    if (!signal.aborted) options.log.error(`node: ${FairleadError.from(error).message}`);
  });
}

interface Picture extends NodeOptions {
  readonly since: Date;
  readonly version: string;
}

/** A node of a cluster's own version is what its users expect. */
async function apiVersion(client: KubeClient): Promise<string> {
  const answer = await client.raw("GET", "/version");
  return isRecord(answer) ? String(answer.gitVersion ?? "") : "";
}

async function beat(options: Picture): Promise<void> {
  const { client, signal, log } = options;
  for (let renewals = 1; !signal.aborted; renewals++) {
    await wait(renewMs, signal);
    const lease = client.patch(leases, leaseRef, "merge", { spec: leaseSpec(options) });
    const status =
      renewals % renewalsPerStatus === 0
        ? client.patchStatus(nodes, { name: nodeName }, nodeStatus(options))
        : Promise.resolve();
    await Promise.all([lease, status]).catch((error: unknown) => {
      if (!signal.aborted) log.warn(`node: ${FairleadError.from(error).message}`);
    });
  }
}

function leaseSpec({ now }: NodeOptions): object {
  return { holderIdentity: nodeName, leaseDurationSeconds: 40, renewTime: microTime(now()) };
}

function leaseObject(options: NodeOptions): KubeObject {
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: leaseRef, spec: leaseSpec(options) };
}

function nodeStatus(options: Picture): object {
  const [lastHeartbeatTime, lastTransitionTime] = [options.now(), options.since].map((time) => time.toISOString());
  const condition = (type: string, status: string, reason: string, message: string): object => ({
    type,
    status,
    reason,
    message,
    lastHeartbeatTime,
    lastTransitionTime,
  });
  const capacity = { cpu: String(availableParallelism()), memory: `${Math.floor(totalmem() / 1024)}Ki`, pods: "250" };
  return {
    conditions: [
      condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "memory is not limited"),
      condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "disk is not limited"),
      condition("PIDPressure", "False", "KubeletHasSufficientPID", "processes are not limited"),
      condition("Ready", "True", "KubeletReady", "processes join by `fairlead run`"),
    ],
    addresses: [
      { type: "InternalIP", address: options.hostAddress },
      { type: "Hostname", address: nodeName },
    ],
    capacity,
    allocatable: capacity,
    nodeInfo: {
      architecture: goArch(),
      operatingSystem: platform(),
      osImage: osImage(),
      kernelVersion: release(),
      kubeletVersion: options.version,
      kubeProxyVersion: "",
      containerRuntimeVersion: `fairlead://${options.version}`,
      bootID: "",
      machineID: "",
      systemUUID: "",
    },
  };
}

/** The platform's name as Go, and so Kubernetes, has it. */
function goArch(): string {
  return arch() === "x64" ? "amd64" : arch();
}

function osImage(): string {
  try {
    return /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "";
  } catch {
    return "";
  }
}

function ignoreExisting(error: unknown): void {
  if (!(error instanceof FairleadError) || error.code !== "already-exists") throw error;
}
