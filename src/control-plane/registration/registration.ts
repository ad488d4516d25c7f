/**
 * A source of resources in; the same source out, whose workloads outside Kubernetes register themselves: one that
 * connects has a WorkloadEntry while it is there, and for a grace after it has left.
 */
import type { Collection } from "../../collections/index.ts";
import { createBackoff, FairleadError, wait } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import type { ProxyNode, ResourceSource } from "../../xds/index.ts";
import { connectedAnnotation, controllerAnnotation, type EntryRef, entryOf, isOverdue } from "./entry.ts";
import { createRecords, type Present, type RecordsOptions } from "./records.ts";

export interface RegistrationOptions extends Omit<RecordsOptions, "ages"> {
  readonly entries: Collection<KubeObject>;
  readonly groups: Collection<KubeObject>;
  /** How long an entry stays without its workload (PILOT_WORKLOAD_ENTRY_GRACE_PERIOD). */
  readonly graceMs: number;
  /** PILOT_ENABLE_WORKLOAD_ENTRY_AUTOREGISTRATION, PILOT_ENABLE_WORKLOAD_ENTRY_HEALTHCHECKS. */
  readonly enabled: { readonly registration: boolean; readonly health: boolean };
  readonly random: () => number;
}

export interface Registration extends ResourceSource {
  /** What a workload's agent has found on probing it; without an error it is healthy. */
  healthReported(node: ProxyNode, error: string | undefined): void;
}

/** Of one workload, which may have several: an old one ends after the new one has begun, or before. */
interface Connections {
  readonly all: Set<Present>;
  /** What its entry has as the time of the last, whichever of them are left. */
  readonly since: Date;
}

/** A connection lives as long as it can, so that its workload is written down again from time to time. */
const repeatMs = 15 * 60_000;
/** Of one that has this control plane in its entry and does not come back after a restart. */
const returnMs = 60_000;

export function createRegistration(source: ResourceSource, options: RegistrationOptions): Registration {
  const { enabled, log, signal, now } = options;
  const records = createRecords({ ...options, ages: { graceMs: options.graceMs, maxSilenceMs: 3 * repeatMs } });
  const present = new Map<string, Connections>();
  /** Whose leaving is being written down: an API that is away is asked once at a time for each. */
  const leaving = new Set<string>();
  /** Proxies that were found to be the workloads of their entries: nobody else says how these are. */
  const owners = new WeakSet<ProxyNode>();
  const inTurn = createTurns(signal);
  const started = now();

  const concerns = (ref: EntryRef): boolean => (ref.group === undefined ? enabled.health : enabled.registration);
  const connected = (workload: Present): Promise<void> =>
    inTurn(keyOf(workload.ref), async () => {
      if (await records.connected(workload)) owners.add(workload.node);
      else forget(workload);
    });
  const warn = (what: string, ref: Pick<EntryRef, "namespace" | "name">) => (error: unknown) => {
    if (!signal.aborted) log.warn(what, { entry: keyOf(ref), cause: FairleadError.from(error).message });
  };

  function left(ref: EntryRef, connectedAt: Date): Promise<void> {
    leaving.add(keyOf(ref));
    return cleanUpAfter(ref, connectedAt).finally(() => leaving.delete(keyOf(ref)));
  }

  /** Tried until it is written down, or the workload is back. */
  async function cleanUpAfter(ref: EntryRef, connectedAt: Date): Promise<void> {
    const times = { connected: connectedAt, left: now() };
    const backoff = createBackoff({ minMs: 200, maxMs: 30_000, random: options.random });
    for (;;)
      try {
        const written = await inTurn(keyOf(ref), async () =>
          present.has(keyOf(ref)) ? false : records.disconnected(ref, times),
        );
        if (!written) return;
        break;
      } catch (error) {
        warn("a workload that has left cannot be written down", ref)(error);
        await wait(backoff.nextMs(), signal);
      }
    await wait(options.graceMs, signal);
    await inTurn(keyOf(ref), () => records.cleanUp(ref));
  }

  function remember(workload: Present): void {
    const { all, since } = present.get(keyOf(workload.ref)) ?? { all: new Set(), since: workload.since };
    all.add(workload);
    present.set(keyOf(workload.ref), { all, since: later(since, workload.since) });
  }

  /** Whether it was there; one that is not its entry's workload does not keep the entry. */
  function forget(workload: Present): boolean {
    const all = present.get(keyOf(workload.ref))?.all;
    if (!all?.delete(workload)) return false;
    if (all.size === 0) present.delete(keyOf(workload.ref));
    return true;
  }

  function leave(workload: Present): void {
    const { ref } = workload;
    const since = present.get(keyOf(ref))?.since ?? workload.since;
    if (!forget(workload) || present.has(keyOf(ref)) || signal.aborted) return;
    left(ref, since).catch(warn("a workload that has left cannot be cleaned up", ref));
  }

  /** What other control planes have left behind, and this one in a former life. */
  function lookAround(): void {
    const ages = { graceMs: options.graceMs, maxSilenceMs: 3 * repeatMs };
    const at = now();
    for (const key of options.entries.keys()) {
      const entry = options.entries.get(key);
      if (!entry || present.has(key) || leaving.has(key)) continue;
      const { name, namespace = "", annotations = {} } = entry.metadata;
      const ref = { namespace, name, group: undefined };
      const isOwn = annotations[controllerAnnotation] === options.controller;
      const since = annotations[connectedAnnotation];
      if (isOwn && since !== undefined && at.getTime() - started.getTime() > returnMs)
        left(ref, at).catch(warn("a workload that has left cannot be cleaned up", ref));
      else if (isOverdue(entry, at, ages))
        inTurn(key, () => records.cleanUp(ref)).catch(warn("a WorkloadEntry cannot be cleaned up", ref));
    }
  }

  const every = (ms: number, act: () => void): void => {
    const timer = setInterval(act, ms).unref();
    signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  };
  if (enabled.registration || enabled.health) {
    every(Math.max(1000, 10 * options.graceMs), lookAround);
    every(repeatMs, () => {
      const since = now();
      for (const [key, { all }] of present) {
        present.set(key, { all, since });
        const [first] = all;
        if (first) writeAgain({ ...first, since });
      }
    });
    // A group that is made again has lost its entries, and their workloads are still here.
    const stop = options.groups.subscribe((key, next, before) => {
      if (!next || before) return;
      for (const {
        all: [first],
      } of present.values())
        if (first && `${first.ref.namespace}/${first.ref.group}` === key) writeAgain(first);
    });
    signal.addEventListener("abort", stop, { once: true });
  }
  function writeAgain(workload: Present): void {
    connected(workload).catch(warn("a workload cannot be registered", workload.ref));
  }

  return {
    connect(node, identity, changed) {
      const session = source.connect(node, identity, changed);
      const ref = entryOf(node);
      if (!ref || !concerns(ref)) return session;
      const workload: Present = { ref, node, identity, since: now() };
      remember(workload);
      const registered = connected(workload);
      // Whoever waits for the session is told; one that has gone meanwhile is not.
      registered.catch(warn("a workload cannot be registered", ref));
      return {
        all: (type) => session.all(type),
        get: (type, name) => session.get(type, name),
        forget: (type, name) => session.forget(type, name),
        ready: Promise.all([session.ready, registered]).then(() => {}),
        close() {
          session.close();
          leave(workload);
        },
      };
    },
    healthReported(node, error) {
      const ref = entryOf(node);
      if (!ref || !enabled.health || !owners.has(node)) return;
      const at = now();
      inTurn(keyOf(ref), () => records.healthReported(ref, { error, at })).catch(
        warn("a workload's health cannot be written down", ref),
      );
    },
  };
}

const later = (a: Date, b: Date): Date => (a < b ? b : a);

const keyOf = ({ namespace, name }: Pick<EntryRef, "namespace" | "name">): string => `${namespace}/${name}`;

/** What concerns one entry is done one after the other; what fails does not keep the next from its turn. */
function createTurns(signal: AbortSignal): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const turn = (last.get(key) ?? Promise.resolve()).then(() => {
      signal.throwIfAborted();
      return work();
    });
    const settled = turn.catch(() => {});
    last.set(key, settled);
    void settled.then(() => last.get(key) === settled && last.delete(key));
    return turn;
  };
}
