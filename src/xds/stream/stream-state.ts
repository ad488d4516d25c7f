/**
 * The whole protocol state of one stream: requests and news in, at any time the one next response out. It keeps no
 * queue: the response is made of the latest state when the transport is ready for it.
 */
import { type Resource, type ResourceType, types } from "../../model/index.ts";
import type { News, ProxySession } from "../source.ts";
import { pushOrder } from "../type-info.ts";
import { receiveDelta } from "./delta.ts";
import { createHoldBack, type Held, type HoldBackTimes } from "./hold-back.ts";
import type { NamePool } from "./names.ts";
import { planType } from "./plan.ts";
import type { Plan } from "./planning.ts";
import type { DeltaRequest, Received, SotwRequest } from "./request.ts";
import { receiveSotw } from "./sotw.ts";
import type { Steps } from "./steps.ts";
import type { TypeState } from "./type-state.ts";
import type { Versions } from "./version.ts";

export interface Response {
  readonly type: ResourceType;
  readonly version: string;
  readonly nonce: string;
  readonly resources: readonly Resource[];
  readonly removed: readonly string[];
}

export interface StreamStateOptions {
  readonly variant: "sotw" | "delta";
  readonly session: ProxySession;
  readonly versions: Versions;
  /** Shared by all streams of a server. */
  readonly steps: Steps;
  readonly pool: NamePool;
  readonly times: HoldBackTimes;
  readonly onHeldBack: (held: Held) => void;
}

export interface StreamState {
  receiveSotw(request: SotwRequest, nowMs: number): Received;
  receiveDelta(request: DeltaRequest, nowMs: number): Received;
  /** The source has news; without any, everything may be different. */
  changed(news?: News): void;
  /** Whether `next` is worth asking. */
  pending(): boolean;
  next(nowMs: number): Response | undefined;
  /** When `wake` must be called at the latest. */
  wakeAtMs(): number | undefined;
  wake(): void;
  states(): IteratorObject<TypeState>;
  held(): readonly Held[];
}

export function createStreamState(options: StreamStateOptions): StreamState {
  const { session, variant, steps, pool } = options;
  const states = new Map<ResourceType, TypeState>();
  const dirty = new Set<ResourceType>();
  const holdBack = createHoldBack({
    ...{ states, session, steps },
    times: options.times,
    onEnded: options.onHeldBack,
  });
  const stateOptions = { pool, onAccepted: holdBack.noteAccepted };
  const planning = { variant, session, holdBack, steps };

  function received(type: ResourceType, result: Received): Received {
    if (result.dirty) dirty.add(type);
    // Any answer may be the one that something waits for.
    if (result.event !== "stale") wake();
    return result;
  }

  function wake(): void {
    for (const type of holdBack.waitingTypes()) dirty.add(type);
  }

  function record(state: TypeState, plan: Plan, nowMs: number): Response {
    const { version, nonce } = options.versions.next();
    const { changes, before, whole } = plan;
    state.recordSent({ version, nonce, changes, before, whole }, nowMs);
    if (state.type === types.cluster) warm(plan.resources, plan);
    // From now on its answer is awaited, and clusters may have to wait with it.
    else if (holdBack.waitingTypes().has(types.cluster)) dirty.add(types.cluster);
    return { type: state.type, version, nonce, resources: plan.resources, removed: plan.removed };
  }

  /** A cluster that is new or changed warms until endpoints arrive, even the same as before: Envoy does not ask again. */
  function warm(clusters: readonly Resource[], plan: Plan): void {
    const endpoints = states.get(types.endpoint);
    if (!endpoints) return;
    for (const cluster of clusters) {
      if (!plan.changes.has(cluster.name)) continue;
      for (const name of cluster.needs) if (endpoints.sent(name)) endpoints.mustSend.add(name);
    }
    if (endpoints.mustSend.size > 0) dirty.add(types.endpoint);
  }

  return {
    receiveSotw: (request, nowMs) => received(request.type, receiveSotw(states, request, nowMs, stateOptions)),
    receiveDelta: (request, nowMs) =>
      received(request.type, receiveDelta(states, request, nowMs, { session, options: stateOptions })),
    changed(news) {
      for (const [type, state] of states) {
        const names = news?.get(type);
        if (news && !names) continue;
        state.noteNews(names);
        dirty.add(type);
      }
      wake();
    },
    pending: () => dirty.size > 0,
    next(nowMs) {
      for (const type of pushOrder) {
        if (!dirty.delete(type)) continue;
        const state = states.get(type);
        const plan = state && planType(state, planning, nowMs);
        if (state && plan) return record(state, plan, nowMs);
      }
      return undefined;
    },
    wakeAtMs: holdBack.wakeAtMs,
    wake,
    states: () => states.values(),
    held: holdBack.held,
  };
}
