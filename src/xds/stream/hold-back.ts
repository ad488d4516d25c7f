/**
 * Make before break: says which routes and listeners must wait for a cluster, and which removed clusters must wait for
 * a route. Holds only on streams that follow all clusters, as Envoy does; others are pushed in plain order.
 */
import { type Resource, type ResourceSet, type ResourceType, types } from "../../model/index.ts";
import type { ProxySession } from "../source.ts";
import { isOutdated } from "./outdated.ts";
import type { Steps } from "./steps.ts";
import type { TypeState } from "./type-state.ts";
import type { InFlight } from "./unanswered.ts";
import { wantedOf } from "./wanted.ts";

export interface Held {
  readonly type: ResourceType;
  readonly name: string;
  /** Clusters that are awaited. */
  readonly clusters: readonly string[];
  readonly sinceMs: number;
  /** The wait has ended by a NACK or by time; the old version stays until the clusters are there. */
  readonly ended: boolean;
}

export interface HoldBack {
  /** False where nothing of this type ever waits. */
  mayHold(state: TypeState): boolean;
  /** Whether this new version may be sent now. */
  mayGo(state: TypeState, resource: Resource, nowMs: number): boolean;
  /**
   * After a reconnect Envoy asks for all its types at once. The first answer on clusters waits a moment for the
   * requests on listeners and routes, which tell whether those may still name a cluster that has gone.
   */
  awaitsRoutes(state: TypeState, nowMs: number): boolean;
  /** Of clusters that are no longer wanted, those that must stay for now: a route of the client names them, or did so. */
  stillUsed(removed: ReadonlySet<string>, nowMs: number): ReadonlySet<string>;
  /** The client has taken this response. */
  noteAccepted(type: ResourceType, response: InFlight, nowMs: number): void;
  /** Whether endpoints that are no longer wanted belong to a cluster that the client still has. */
  keepsEndpoints(state: TypeState, name: string): boolean;
  /** When to look again, if nothing happens before. */
  wakeAtMs(): number | undefined;
  /** Types that have something waiting: they are looked at again with every answer. */
  waitingTypes(): ReadonlySet<ResourceType>;
  /** Called before a type is planned: what no longer waits is forgotten. */
  begin(type: ResourceType): void;
  held(): readonly Held[];
  /** How many clusters are remembered that the source has no more. */
  kept(): number;
}

export interface HoldBackOptions {
  readonly states: ReadonlyMap<ResourceType, TypeState>;
  readonly session: ProxySession;
  readonly steps: Steps;
  readonly times: HoldBackTimes;
  /** Called once for each wait that ended without its clusters. */
  readonly onEnded: (held: Held) => void;
}

const resumeMs = 200;

/**
 * How long a route waits for a cluster that nobody makes, and a removed cluster for the route that is still wanted with
 * it: what belongs together may come in two steps, in either order, and on a machine without time they are seconds apart.
 */
const settleMs = 5000;

const naming = [types.listener, types.route] as const;
const isNaming = (type: ResourceType): boolean => type === types.listener || type === types.route;

const none: readonly string[] = [];
const noWaits: ReadonlyMap<string, Held> = new Map();

export interface HoldBackTimes {
  /** How long routes wait for their clusters. */
  readonly maxWaitMs: number;
  /**
   * How long a cluster that nothing names any more stays. Envoy acknowledges a route before all its workers use it, and
   * requests that were routed by the old one may still have to connect or to try again: without their cluster they fail.
   */
  readonly drainMs: number;
}

export function createHoldBack(options: HoldBackOptions): HoldBack {
  const { states, session, steps } = options;
  const { maxWaitMs, drainMs } = options.times;
  const waits = new Map<string, Held>();
  /** Waits of the type that is being planned, as they were the last time. */
  let before: ReadonlyMap<string, Held> = noWaits;
  const waiting = new Set<ResourceType>();
  /** Removed clusters that wanted routes name, and since when. */
  const orphans = new Map<string, number>();
  /** Clusters that a route or listener has let go of, and when. */
  const letGo = new Map<string, number>();
  let removalWakeMs: number | undefined;
  let resumedSinceMs: number | undefined;
  /** A first answer on listeners that waits, and since when. */
  let firstWait: { readonly of: TypeState; readonly sinceMs: number } | undefined;

  const cds = (): TypeState | undefined => states.get(types.cluster);

  function wasRefused(cluster: string): boolean {
    const state = cds();
    if (!state || state.accepted(cluster) || state.awaitedSinceMs(cluster) !== undefined) return false;
    const hash = session.all(types.cluster).get(cluster)?.hash ?? "";
    return state.sent(cluster) !== undefined || state.refusals?.was(cluster, hash) === true;
  }

  const isUnmade = (cluster: string): boolean => session.all(types.cluster).get(cluster) === undefined;

  function endpointsReady(assignment: string): boolean {
    const state = states.get(types.endpoint);
    // A client that follows no endpoints cannot acknowledge any.
    if (!state || session.get(types.endpoint, assignment) === undefined) return true;
    return state.isSubscribed(assignment) && state.surelyHas(assignment) !== undefined;
  }

  /**
   * Envoy withholds its CDS ACK while any cluster warms, even one that is stuck. After the full wait, endpoints
   * acknowledged for the cluster prove as well that Envoy has it.
   */
  function isReady(cluster: string, waitedMs: number): boolean {
    const wanted = session.all(types.cluster).get(cluster);
    if (!wanted) return waitedMs >= settleMs;
    const accepted = cds()?.surelyHas(cluster);
    const proven = waitedMs >= maxWaitMs && wanted.needs.length > 0 && !wasRefused(cluster);
    if (!accepted && !proven) return false;
    return (accepted && !isOutdated(accepted) ? accepted : wanted).needs.every(endpointsReady);
  }

  function missing(state: TypeState, resource: Resource, waitedMs: number): string[] {
    const accepted = state.accepted(resource.name)?.needs ?? [];
    return steps
      .newNeeds(state.sent(resource.name), resource)
      .filter((cluster) => !accepted.includes(cluster) && !isReady(cluster, waitedMs));
  }

  function mayHold(state: TypeState): boolean {
    // A client without earlier state has no traffic to break.
    return cds()?.wildcard === true && (state.answered || state.resumed);
  }

  function mayGo(state: TypeState, resource: Resource, nowMs: number): boolean {
    if (!mayHold(state) || !isNaming(state.type)) return true;
    const key = `${state.type} ${resource.name} ${resource.hash}`;
    const known = before.get(key);
    const sinceMs = startOf(state, known, nowMs);
    const clusters = missing(state, resource, nowMs - sinceMs);
    if (clusters.length === 0) return true;
    const ended = nowMs - sinceMs >= maxWaitMs || clusters.some(wasRefused);
    if (!state.answered && state.type === types.listener) firstWait = { of: state, sinceMs };
    const held = { type: state.type, name: resource.name, clusters, sinceMs, ended };
    if (ended && !known?.ended) options.onEnded(held);
    // Where the client has nothing older to stay with, something late is better than nothing.
    if (ended && !hasOlder(state, resource.name)) return true;
    waits.set(key, held);
    waiting.add(state.type);
    return false;
  }

  /**
   * The listeners of a first answer are sent together: those whose wait has ended must not begin another one while others wait
   * that have come later, or none of them is ever sent.
   */
  function startOf(state: TypeState, known: Held | undefined, nowMs: number): number {
    return (firstWait?.of === state && !state.answered ? firstWait.sinceMs : known?.sinceMs) ?? nowMs;
  }

  function hasOlder(state: TypeState, name: string): boolean {
    if (state.sent(name) || state.accepted(name)) return true;
    // A listener that never was needs no substitute; a route that is asked for keeps its listener from starting.
    return state.type === types.listener && state.answered;
  }

  function stillUsed(removed: ReadonlySet<string>, nowMs: number): ReadonlySet<string> {
    removalWakeMs = undefined;
    if (cds()?.wildcard !== true) return new Set();
    const kept = new Set<string>();
    for (const cluster of orphans.keys()) if (!removed.has(cluster)) orphans.delete(cluster);
    for (const type of naming) {
      const state = states.get(type);
      if (!state) continue;
      keepWanted(session.all(type), removed, kept, nowMs);
      for (const name of new Set(state.unsettled())) keepNamed(state, name, removed, kept, nowMs);
    }
    dropDrained(nowMs);
    for (const cluster of removed) if (!kept.has(cluster) && isDraining(cluster)) kept.add(cluster);
    if (kept.size > 0) waiting.add(types.cluster);
    return kept;
  }

  function awaitsRoutes(state: TypeState, nowMs: number): boolean {
    if (state.type !== types.cluster || !state.wildcard || !state.resumed || state.answered) return false;
    const wanted = session.all(types.cluster);
    if (naming.every((type) => states.has(type)) || state.sentNames().every((name) => wanted.get(name))) return false;
    resumedSinceMs ??= nowMs;
    if (nowMs - resumedSinceMs >= resumeMs) return false;
    wakeBy(resumedSinceMs + resumeMs);
    waiting.add(types.cluster);
    return true;
  }

  /** What the source still names shall come in a moment, or go from there too. */
  function keepWanted(set: ResourceSet, removed: ReadonlySet<string>, kept: Set<string>, nowMs: number): void {
    for (const cluster of removed) if (steps.isNeeded(set, cluster) && isFreshOrphan(cluster, nowMs)) kept.add(cluster);
  }

  function keepNamed(
    state: TypeState,
    name: string,
    removed: ReadonlySet<string>,
    kept: Set<string>,
    nowMs: number,
  ): void {
    const [accepted, sent] = [state.accepted(name), state.sent(name)];
    const wanted = wantedOf(state, { session, current: session.all(state.type) }, name);
    if (!stillHolds(state, name, sent, wanted, nowMs)) return;
    // Of what is wanted anyway it was decided for how long it keeps its clusters.
    if (isOutdated(accepted) || isOutdated(sent)) {
      const needs = new Set(wanted?.needs);
      for (const cluster of removed) if (!needs.has(cluster)) kept.add(cluster);
      return;
    }
    for (const has of [accepted, sent])
      for (const cluster of has ? steps.newNeeds(wanted, has) : none) if (removed.has(cluster)) kept.add(cluster);
  }

  function isDraining(cluster: string): boolean {
    const sinceMs = letGo.get(cluster);
    if (sinceMs !== undefined) wakeBy(sinceMs + drainMs);
    return sinceMs !== undefined;
  }

  function noteLetGo({ changes, before }: InFlight, nowMs: number): void {
    dropDrained(nowMs);
    // The first answer of a type, of thousands of names perhaps, lets go of nothing.
    if (before.size === 0) return;
    for (const name of changes.keys()) {
      const [was, is] = [before.get(name), changes.get(name)];
      const lost = was && (is ? steps.newNeeds(is, was) : was.needs);
      for (const cluster of lost ?? []) {
        letGo.delete(cluster);
        letGo.set(cluster, nowMs);
      }
    }
  }

  /** The oldest come first. Also where no cluster is ever removed, as where routes name what nobody makes. */
  function dropDrained(nowMs: number): void {
    for (const [cluster, sinceMs] of letGo) {
      if (nowMs - sinceMs < drainMs) return;
      letGo.delete(cluster);
    }
  }

  function isFreshOrphan(cluster: string, nowMs: number): boolean {
    const sinceMs = orphans.get(cluster) ?? nowMs;
    orphans.set(cluster, sinceMs);
    if (nowMs - sinceMs >= settleMs) return false;
    wakeBy(sinceMs + settleMs);
    return true;
  }

  /** False once the client has accepted the wanted version, or has had the time to. */
  function stillHolds(
    state: TypeState,
    name: string,
    sent: Resource | undefined,
    wanted: Resource | undefined,
    nowMs: number,
  ): boolean {
    if (sent?.hash !== wanted?.hash) return true;
    if (state.accepted(name)?.hash === wanted?.hash) return false;
    const awaitedMs = state.awaitedSinceMs(name);
    if (awaitedMs === undefined) return true;
    if (nowMs - awaitedMs >= maxWaitMs) return false;
    wakeBy(awaitedMs + maxWaitMs);
    return true;
  }

  function wakeBy(ms: number): void {
    removalWakeMs = Math.min(removalWakeMs ?? Number.POSITIVE_INFINITY, ms);
  }

  return {
    mayHold,
    mayGo,
    awaitsRoutes,
    stillUsed,
    noteAccepted(type, response, nowMs) {
      if (isNaming(type) && cds()?.wildcard === true) noteLetGo(response, nowMs);
    },
    keepsEndpoints(state, name) {
      const kept = state.type === types.endpoint && cds()?.wildcard === true && cds()?.sent(name) !== undefined;
      if (kept) waiting.add(types.endpoint);
      return kept;
    },
    wakeAtMs() {
      if (waits.size === 0) return removalWakeMs;
      const ends = waits
        .values()
        .filter((held) => !held.ended)
        .map((held) => held.sinceMs + (held.clusters.some(isUnmade) ? settleMs : maxWaitMs));
      const all = [...ends, ...(removalWakeMs === undefined ? [] : [removalWakeMs])];
      return all.length === 0 ? undefined : Math.min(...all);
    },
    waitingTypes: () => waiting,
    begin(type) {
      before = noWaits;
      if (waits.size > 0) {
        before = new Map(waits.entries().filter(([, held]) => held.type === type));
        for (const key of before.keys()) waits.delete(key);
      }
      waiting.delete(type);
      if (type === types.cluster) removalWakeMs = undefined;
    },
    held: () => [...waits.values()],
    kept: () => letGo.size + orphans.size,
  };
}
