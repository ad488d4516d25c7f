/**
 * The name of a lock in; who holds it, and a way to take it that fails when somebody else was faster, out. A lock is a
 * Lease, or an annotation of a ConfigMap where istiod has it there: control planes of both kinds must respect each
 * other's locks.
 */
import { isRecord, parseJson, readRecord } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { KubeClient } from "./client.ts";
import type { KindRef } from "./kind.ts";
import { kubeKinds } from "./kinds.ts";

export interface LockRecord {
  /** Empty where nobody holds it. */
  readonly holder: string;
  /** The holder's revision: the default one may take a lock from others. */
  readonly key: string;
  readonly durationSeconds: number;
  readonly acquireTime: string;
  readonly renewTime: string;
  readonly transitions: number;
}

export interface LockState {
  readonly record: LockRecord | undefined;
  /** The object as it was read; writing goes on from it. */
  readonly object: KubeObject | undefined;
}

export interface Lock {
  /** For the log. */
  readonly name: string;
  read(signal?: AbortSignal): Promise<LockState>;
  /** Resolves with the lock as it was written. */
  write(record: LockRecord, from: LockState, signal?: AbortSignal): Promise<LockState>;
}

export interface LockRef {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly name: string;
}

const leaderAnnotation = "control-plane.alpha.kubernetes.io/leader";
const keyAnnotation = "leader.istio.io/holder-key";

export function createLeaseLock(ref: LockRef): Lock {
  return createLock(ref, kubeKinds.leases, {
    read: ({ spec, metadata }) => {
      const lease = readRecord(spec);
      return recordOf(lease, metadata.annotations?.[keyAnnotation] ?? "", lease.leaseTransitions);
    },
    write: (object, record) => ({
      ...object,
      metadata: withAnnotation(object, keyAnnotation, record.key),
      spec: {
        holderIdentity: record.holder,
        leaseDurationSeconds: record.durationSeconds,
        acquireTime: record.acquireTime,
        renewTime: record.renewTime,
        leaseTransitions: record.transitions,
      },
    }),
  });
}

export function createConfigMapLock(ref: LockRef): Lock {
  return createLock(ref, kubeKinds.configMaps, {
    read: ({ metadata }) => {
      const text = metadata.annotations?.[leaderAnnotation];
      const leader = text === undefined ? undefined : tryParse(text);
      if (!isRecord(leader)) return undefined;
      return recordOf(leader, leader.holderKey, leader.leaderTransitions);
    },
    write: (object, record) => ({
      ...object,
      metadata: withAnnotation(
        object,
        leaderAnnotation,
        JSON.stringify({
          holderIdentity: record.holder,
          holderKey: record.key,
          leaseDurationSeconds: record.durationSeconds,
          // Seconds: what istiod reads here has no fractions.
          acquireTime: wholeSeconds(record.acquireTime),
          renewTime: wholeSeconds(record.renewTime),
          leaderTransitions: record.transitions,
        }),
      ),
    }),
  });
}

interface Form {
  read(object: KubeObject): LockRecord | undefined;
  write(object: KubeObject, record: LockRecord): KubeObject;
}

function createLock({ client, namespace, name }: LockRef, kind: KindRef, form: Form): Lock {
  return {
    name: `${kind.kind} ${namespace}/${name}`,
    async read(signal) {
      const object = await client.find(kind, { namespace, name }, signal);
      return { object, record: object && form.read(object) };
    },
    async write(record, { object }, signal) {
      const apiVersion = kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
      const base = object ?? { apiVersion, kind: kind.kind, metadata: { name, namespace } };
      const next = form.write(base, record);
      // The resourceVersion in the metadata makes an update fail when somebody else was faster.
      const written =
        object === undefined
          ? await client.create(kind, next, { signal })
          : await client.update(kind, next, { signal });
      return { object: written, record: form.read(written) };
    },
  };
}

function recordOf(fields: Readonly<Record<string, unknown>>, key: unknown, transitions: unknown): LockRecord {
  const text = (value: unknown): string => (typeof value === "string" ? value : "");
  const number = (value: unknown): number => (typeof value === "number" && Number.isFinite(value) ? value : 0);
  return {
    holder: text(fields.holderIdentity),
    key: text(key),
    durationSeconds: number(fields.leaseDurationSeconds),
    acquireTime: text(fields.acquireTime),
    renewTime: text(fields.renewTime),
    transitions: number(transitions),
  };
}

function withAnnotation({ metadata }: KubeObject, name: string, value: string): KubeObject["metadata"] {
  const { [name]: _, ...others } = metadata.annotations ?? {};
  return { ...metadata, annotations: value === "" ? others : { ...others, [name]: value } };
}

function wholeSeconds(time: string): string {
  return time.replace(/\.\d+Z$/, "Z");
}

function tryParse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
