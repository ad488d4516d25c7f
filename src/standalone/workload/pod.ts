/** A workload's Pod in the API: made, kept alive by its lease, and removed. */
import { microTime, type ObjectRef } from "../../kube/index.ts";
import { FairleadError, type Owner, ownerOf, readRecord, readText, wait } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { ignoreMissing } from "../endpoint-slices.ts";
import { leases, nodeName, pods, runnerAnnotation, serviceAccounts } from "../kinds.ts";
import { readPodShape } from "../service-shape.ts";
import type { Undo, WorkloadHost, WorkloadSpec } from "./spec.ts";

export async function ensureAccount(host: WorkloadHost, spec: WorkloadSpec): Promise<void> {
  const metadata = { name: spec.serviceAccount, namespace: spec.namespace };
  if (await host.client.find(serviceAccounts, metadata)) return;
  await host.client
    .create(serviceAccounts, { apiVersion: "v1", kind: "ServiceAccount", metadata })
    .catch((error: unknown) => {
      if (!(error instanceof FairleadError) || error.code !== "already-exists") throw error;
    });
}

export async function createPod(host: WorkloadHost, spec: WorkloadSpec, undo: Undo): Promise<KubeObject> {
  const { client } = host;
  const ref = { name: spec.name, namespace: spec.namespace };
  const leaseRef = { name: `run-${spec.name}`, namespace: spec.namespace };
  const wanted = podObject(spec, leaseRef.name);
  const pod = await createInjected(host, wanted).catch(async (cause: unknown) => {
    if (!(cause instanceof FairleadError) || cause.code !== "already-exists") throw cause;
    if (await removeAbandoned(host, ref, leaseRef)) return await createInjected(host, wanted);
    throw new FairleadError("already-exists", `Pod ${spec.namespace}/${spec.name} is already there`, {
      hint: `choose another --name, or remove it: fairlead delete pod ${spec.name} -n ${spec.namespace}`,
      cause,
    });
  });
  undo.push(async () => {
    await client.delete(pods, ref, { gracePeriodSeconds: 0 }).catch(ignoreMissing);
    await client.delete(leases, leaseRef).catch(ignoreMissing);
  });
  // Only whoever has the Pod may touch its lease: under a taken name it is another runner's.
  await client.create(leases, leaseObject(host, leaseRef)).catch(async (error: unknown) => {
    if (!(error instanceof FairleadError) || error.code !== "already-exists") throw error;
    await client.patch(leases, leaseRef, "merge", { spec: leaseSpec(host) });
  });
  return pod;
}

/** A runner that was killed leaves its Pod, which nobody looks after: the next of that name takes its place. */
async function removeAbandoned({ client, log }: WorkloadHost, ref: ObjectRef, leaseRef: ObjectRef): Promise<boolean> {
  const [pod, lease] = [await client.find(pods, ref), await client.find(leases, leaseRef)];
  // Without a lease it may be one that is just being started.
  if (!lease || isHeldByOther(lease) || pod?.metadata.annotations?.[runnerAnnotation] !== leaseRef.name) return false;
  log.info(`${ref.name}: its last runner is gone; this one takes its place`);
  await client.delete(pods, ref, { gracePeriodSeconds: 0 }).catch(ignoreMissing);
  return true;
}

const injectMs = 15_000;

/** A control plane that is just being started again is waited for. */
async function createInjected({ client }: WorkloadHost, pod: KubeObject): Promise<KubeObject> {
  for (const deadline = performance.now() + injectMs; ; await wait(200)) {
    try {
      return await client.create(pods, pod);
    } catch (error) {
      const isAway = error instanceof FairleadError && error.message.includes("failed calling webhook");
      if (!isAway || performance.now() > deadline) throw error;
    }
  }
}

/** Names of the containers, as Istio's injector would leave them. */
export const appContainer = "app";
export const proxyContainer = "istio-proxy";

/** As its author would write it: the API asks the control plane, which adds the proxy as in any cluster. */
function podObject(spec: WorkloadSpec, lease: string): KubeObject {
  const isGateway = spec.type === "router";
  const ports = spec.ports.map((containerPort) => ({ containerPort, protocol: "TCP" }));
  const container = isGateway
    ? { name: proxyContainer, image: "auto", ports }
    : { name: appContainer, image: "fairlead.dev/process", command: spec.command, ports };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: spec.name,
      namespace: spec.namespace,
      labels: { ...spec.labels, "sidecar.istio.io/inject": "true" },
      annotations: {
        ...spec.annotations,
        ...(isGateway ? { "inject.istio.io/templates": "gateway" } : {}),
        [runnerAnnotation]: lease,
      },
    },
    spec: {
      serviceAccountName: spec.serviceAccount,
      nodeName,
      restartPolicy: spec.restartPolicy,
      containers: [container],
    },
  };
}

function leaseSpec(host: WorkloadHost): object {
  return {
    holderIdentity: livingRunner(process.pid),
    leaseDurationSeconds: 15,
    renewTime: microTime(host.now()),
  };
}

/** A process's id with its start: a reused id is another runner. */
export const runnerIdentity = ({ pid, started }: Owner): string => `fairlead-run-${pid}-${started}`;

const livingRunner = (pid: number): string => runnerIdentity(ownerOf(pid) ?? { pid, started: "" });

/** Empty where nobody holds it. */
export const holderOf = (lease: KubeObject | undefined): string => readText(readRecord(lease?.spec).holderIdentity);

/** Whether the process that holds this lease lives, on this machine, and is not ourselves. */
export function isHeldByOther(lease: KubeObject | undefined): boolean {
  const holder = holderOf(lease);
  const pid = Number(/^fairlead-run-(\d+)-/.exec(holder)?.[1] ?? 0);
  return pid > 1 && pid !== process.pid && holder === livingRunner(pid);
}

function leaseObject(host: WorkloadHost, metadata: { name: string; namespace: string }): KubeObject {
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec: leaseSpec(host) };
}

const renewMs = 5_000;
const lookMs = 1_000;

/** Renews the lease for as long as the workload is there, also when the API was away. Resolves when somebody has deleted the Pod. */
export function keepPod(host: WorkloadHost, spec: WorkloadSpec, uid: string, undo: Undo): Promise<"deleted"> {
  const stop = new AbortController();
  undo.push(async () => stop.abort());
  const { signal } = stop;
  const ref = { name: spec.name, namespace: spec.namespace };
  const leaseRef = { name: `run-${spec.name}`, namespace: spec.namespace };
  const isDeleted = async (): Promise<boolean> => {
    const pod = await host.client.find(pods, ref, signal);
    return pod?.metadata.uid !== uid || pod.metadata.deletionTimestamp !== undefined;
  };
  const tell = createAwayTeller(host, spec);
  return new Promise((resolve) => {
    const watch = async (): Promise<void> => {
      for (let leftMs = 0; !signal.aborted; leftMs -= lookMs) {
        try {
          if (await isDeleted()) return resolve("deleted");
          if (leftMs <= 0) {
            await host.client.patch(leases, leaseRef, "merge", { spec: leaseSpec(host) }, { signal });
            leftMs = renewMs;
          }
          tell.back();
        } catch (error) {
          if (!signal.aborted) tell.away(error);
          leftMs = 0;
        }
        await wait(lookMs, signal).catch(() => {});
      }
    };
    void watch();
  });
}

/** One word when the API goes, one when it is back. */
function createAwayTeller(host: WorkloadHost, spec: WorkloadSpec): { away(error: unknown): void; back(): void } {
  let isAway = false;
  return {
    away(error) {
      if (!isAway)
        host.log.warn(
          `${spec.name}: the mesh's API is away (${FairleadError.from(error).message}); ` +
            "this process goes on and takes part again when `fairlead up` is back",
        );
      isAway = true;
    },
    back() {
      if (isAway) host.log.info(`${spec.name}: the mesh's API is back`);
      isAway = false;
    },
  };
}

/** Many that start at once on a small machine wait for each other. */
const addressMs = 60_000;

export async function waitForAddress(host: WorkloadHost, spec: WorkloadSpec, signal: AbortSignal): Promise<string> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(addressMs)]);
  const ref = { name: spec.name, namespace: spec.namespace };
  while (!deadline.aborted) {
    const { address } = readPodShape(await host.client.get(pods, ref));
    if (address !== "") return address;
    await wait(50, deadline).catch(() => {});
  }
  throw new FairleadError("timeout", `Pod ${spec.namespace}/${spec.name} was given no address`, {
    hint: "is the `fairlead up` of this data folder running?",
  });
}
