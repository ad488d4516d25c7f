/** WorkloadEntries on the API: a workload that came, left, is healthy or is long gone in, the object written by version out. */
import { type KubeClient, kindRef } from "../../kube/index.ts";
import { FairleadError, type Logger } from "../../lib/index.ts";
import { type Identity, type KubeObject, workloadEntry, workloadGroup } from "../../model/index.ts";
import { RpcError, status } from "../../rpc/index.ts";
import type { ProxyNode } from "../../xds/index.ts";
import {
  type Ages,
  type Annotations,
  conditionsWith,
  connectedChange,
  controllerAnnotation,
  disconnectedChange,
  type EntryRef,
  entryFromGroup,
  isHealthChecked,
  isOverdue,
  isRegistered,
  reportedAt,
  whyNotOwner,
} from "./entry.ts";

const counters = [
  "auto_registration_success_total",
  "auto_registration_updates_total",
  "auto_registration_unregister_total",
  "auto_registration_deletes_total",
  "auto_registration_errors_total",
] as const;

export interface RecordsOptions {
  readonly client: KubeClient;
  /** Who this control plane is among others. */
  readonly controller: string;
  readonly ages: Ages;
  /** Whether an entry is only for who has proven to be its workload (ISTIO_WORKLOAD_ENTRY_VALIDATE_IDENTITY). */
  readonly validateIdentity: boolean;
  readonly metrics: {
    count(name: (typeof counters)[number], labels?: Readonly<Record<string, string>>, by?: number): void;
  };
  readonly log: Logger;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

/** A workload that is connected here. */
export interface Present {
  readonly ref: EntryRef;
  readonly node: ProxyNode;
  readonly identity: Identity | undefined;
  readonly since: Date;
}

export interface Records {
  /** Whether the entry is the workload's to report on. Throws where it may not, or cannot, be registered. */
  connected(workload: Present): Promise<boolean>;
  /** Whether the entry now says so. */
  disconnected(ref: EntryRef, times: { readonly connected: Date; readonly left: Date }): Promise<boolean>;
  healthReported(ref: EntryRef, report: { readonly error: string | undefined; readonly at: Date }): Promise<void>;
  /** Takes the entry away where its time is over, and what was reported of one that somebody wrote by hand. */
  cleanUp(ref: Pick<EntryRef, "namespace" | "name">): Promise<void>;
}

const entries = kindRef(workloadEntry);
const groups = kindRef(workloadGroup);
const attempts = 5;

export function createRecords(options: RecordsOptions): Records {
  const { client, controller, metrics, log, signal } = options;
  for (const name of counters) metrics.count(name, {}, 0);
  const patch = (entry: KubeObject, annotations: Annotations): Promise<KubeObject> => {
    const { name, namespace, resourceVersion } = entry.metadata;
    // With the version: of two control planes that write at a time, one looks again.
    const body = { metadata: { resourceVersion, annotations } };
    return client.patch(entries, { name, namespace }, "merge", body, { signal });
  };
  const checkOwner = ({ identity }: Present, entry: KubeObject): void => {
    const reason = options.validateIdentity ? whyNotOwner(identity, entry) : undefined;
    if (reason !== undefined) throw new RpcError(status.permissionDenied, reason);
  };

  async function register(workload: Present): Promise<boolean> {
    const { ref, node, since } = workload;
    const entry = await client.find(entries, ref, signal);
    if (entry) {
      if (ref.group === undefined && !isHealthChecked(entry)) return false;
      checkOwner(workload, entry);
      const change = connectedChange(entry, controller, since);
      if (!change) return true;
      await patch(entry, change);
      metrics.count("auto_registration_updates_total");
      return true;
    }
    const created = await createEntry(ref, node);
    checkOwner(workload, created);
    const change = connectedChange(created, controller, since) ?? {};
    const annotations = Object.fromEntries(
      Object.entries({ ...created.metadata.annotations, ...change }).filter((pair): pair is [string, string] =>
        Boolean(pair[1]),
      ),
    );
    await client.create(entries, { ...created, metadata: { ...created.metadata, annotations } }, { signal });
    metrics.count("auto_registration_success_total");
    log.info("a workload has registered", { entry: `${ref.namespace}/${ref.name}` });
    return true;
  }

  async function createEntry(ref: EntryRef, node: ProxyNode): Promise<KubeObject> {
    const { namespace, name, group } = ref;
    if (group === undefined)
      throw new RpcError(
        status.failedPrecondition,
        `the proxy is to be WorkloadEntry ${namespace}/${name}, which is not there`,
      );
    const found = await client.find(groups, { namespace, name: group }, signal);
    if (found) return entryFromGroup(ref, node, found);
    throw new RpcError(
      status.failedPrecondition,
      `auto-registration WorkloadEntry of ${node.id} failed: cannot find WorkloadGroup ${namespace}/${group}`,
    );
  }

  return {
    async connected(workload) {
      try {
        return await retried(() => register(workload));
      } catch (error) {
        metrics.count("auto_registration_errors_total");
        throw error;
      }
    },
    disconnected: (ref, times) =>
      retried(async () => {
        const entry = await client.find(entries, ref, signal);
        const change = entry && disconnectedChange(entry, controller, times);
        if (!entry || !change) return false;
        await patch(entry, change);
        if (isRegistered(entry)) metrics.count("auto_registration_unregister_total");
        return true;
      }),
    healthReported: (ref, report) =>
      retried(async () => {
        const entry = await client.find(entries, ref, signal);
        // One that has gone over to another control plane is reported there.
        if (entry?.metadata.annotations?.[controllerAnnotation] !== controller) return;
        if (reportedAt(entry.status) > report.at.getTime()) return;
        await writeConditions(entry, conditionsWith(entry.status, report));
      }),
    cleanUp: (ref) =>
      retried(async () => {
        const entry = await client.find(entries, ref, signal);
        if (!entry || !isOverdue(entry, options.now(), options.ages)) return;
        if (!isRegistered(entry)) return writeConditions(entry, conditionsWith(entry.status, undefined));
        // Between reading and deleting the workload may come back: the version says no then.
        const { name, namespace, resourceVersion } = entry.metadata;
        await client.delete(entries, { name, namespace }, { resourceVersion, signal });
        metrics.count("auto_registration_deletes_total");
        log.info("a workload that has left is cleaned up", { entry: `${ref.namespace}/${ref.name}` });
      }),
  };

  async function writeConditions(entry: KubeObject, conditions: readonly unknown[]): Promise<void> {
    const { name, namespace, resourceVersion } = entry.metadata;
    const body = { metadata: { resourceVersion }, status: { conditions } };
    await client.patch(entries, { name, namespace }, "merge", body, { subresource: "status", signal });
  }
}

/** Somebody else wrote first: what holds now is looked at again. */
async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++)
    try {
      return await work();
    } catch (error) {
      const { code } = FairleadError.from(error);
      if (attempt === attempts || (code !== "conflict" && code !== "already-exists")) throw error;
    }
}
