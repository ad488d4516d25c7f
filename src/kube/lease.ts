/**
 * A Lease in the API in, "we lead" out. Another holder's lease counts as over when it has not changed for its own
 * duration on our monotonic clock, so a wrong wall clock on either side does no harm; and we stop leading before
 * anybody else may start, also after the whole process was paused.
 */
import { FairleadError, isRecord, type Logger, wait } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { KubeClient } from "./client.ts";
import { kubeKinds } from "./kinds.ts";

export interface LeaseOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  readonly now: () => Date;
  /** Milliseconds that never go back. */
  readonly monotonicMs: () => number;
  readonly log: Logger;
  readonly durationMs?: number;
  readonly renewMs?: number;
  readonly signal: AbortSignal;
  /** Called when leadership starts; its signal is aborted when it ends. */
  readonly lead: (signal: AbortSignal) => void;
}

export interface LeaderElection {
  /** True only while no other may hold the lease: ask before each write. */
  readonly leading: boolean;
  readonly done: Promise<void>;
}

export function runLeaderElection(options: LeaseOptions): LeaderElection {
  const durationMs = options.durationMs ?? 15_000;
  const renewMs = options.renewMs ?? 2_000;
  let renewedAt: number | undefined;
  let term: AbortController | undefined;
  let expiry: NodeJS.Timeout | undefined;
  let seen: { readonly version: string | undefined; readonly at: number } | undefined;

  // Two thirds of the time others wait: what is left covers a slow clock and a write under way.
  const termMs = (durationMs * 2) / 3;
  const leading = (): boolean => renewedAt !== undefined && options.monotonicMs() - renewedAt < termMs;
  const end = (): void => {
    clearTimeout(expiry);
    renewedAt = undefined;
    term?.abort();
    term = undefined;
  };
  const heldByOther = (lease: KubeObject | undefined): boolean => {
    const holder = lease === undefined ? "" : specOf(lease).holderIdentity;
    if (lease === undefined || holder === options.identity || !holder) return false;
    const version = lease.metadata.resourceVersion;
    if (seen?.version !== version) seen = { version, at: options.monotonicMs() };
    const seconds = specOf(lease).leaseDurationSeconds;
    return options.monotonicMs() - (seen?.at ?? 0) < (typeof seconds === "number" ? seconds * 1000 : durationMs);
  };
  const attempt = async (): Promise<void> => {
    const lease = await options.client.find(kubeKinds.leases, options, options.signal);
    if (heldByOther(lease)) {
      end();
      return;
    }
    const asked = options.monotonicMs();
    await writeLease(options, lease, durationMs);
    renewedAt = asked;
    // A renewal that hangs must not keep the term open.
    clearTimeout(expiry);
    expiry = setTimeout(end, Math.max(0, asked + termMs - options.monotonicMs()));
    expiry.unref();
    if (term === undefined && leading()) {
      term = new AbortController();
      options.lead(AbortSignal.any([term.signal, options.signal]));
    }
  };
  const loop = async (): Promise<void> => {
    while (!options.signal.aborted) {
      await attempt().catch((error: unknown) => {
        if (!options.signal.aborted)
          options.log.warn(`lease ${options.namespace}/${options.name}: ${FairleadError.from(error).message}`);
      });
      if (!leading()) end();
      await wait(renewMs, options.signal).catch(() => {});
    }
    if (leading()) await releaseLease(options).catch(() => {});
    end();
  };
  return {
    get leading() {
      return leading();
    },
    done: loop(),
  };
}

async function writeLease(options: LeaseOptions, lease: KubeObject | undefined, durationMs: number): Promise<void> {
  const { name, namespace, identity } = options;
  const time = microTime(options.now());
  const before = lease === undefined ? {} : specOf(lease);
  const same = before.holderIdentity === identity;
  const transitions = typeof before.leaseTransitions === "number" ? before.leaseTransitions : 0;
  const spec = {
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(durationMs / 1000),
    acquireTime: same ? before.acquireTime : time,
    renewTime: time,
    leaseTransitions: same || lease === undefined ? transitions : transitions + 1,
  };
  const object = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: lease?.metadata ?? { name, namespace },
    spec,
  };
  // The resourceVersion in the metadata makes this fail when somebody else was faster.
  if (lease === undefined) await options.client.create(kubeKinds.leases, object, { signal: options.signal });
  else await options.client.update(kubeKinds.leases, object, { signal: options.signal });
}

async function releaseLease(options: LeaseOptions): Promise<void> {
  const lease = await options.client.find(kubeKinds.leases, options);
  if (lease === undefined || specOf(lease).holderIdentity !== options.identity) return;
  await options.client.update(kubeKinds.leases, {
    ...lease,
    spec: { ...specOf(lease), holderIdentity: "", leaseDurationSeconds: 1 },
  });
}

/** The form of Kubernetes' MicroTime. */
export function microTime(date: Date): string {
  return date.toISOString().replace("Z", "000Z");
}

function specOf(lease: KubeObject): Readonly<Record<string, unknown>> {
  return isRecord(lease.spec) ? lease.spec : {};
}
