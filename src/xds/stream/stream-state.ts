/**
 * The whole protocol state of one stream: requests and news in, at any time the one next response out. It keeps no
 * queue: the response is made of the latest state when the transport is ready for it.
 */
import { type Resource, type ResourceType, types } from "../../model/index.ts";
import type { News, ProxySession } from "../source.ts";
import { isWholeSet, pushOrder, virtualHostType, type WireType } from "../type-info.ts";
import { receiveDelta } from "./delta.ts";
import { createHoldBack, type Held, type HoldBackTimes } from "./hold-back.ts";
import { createHostPush, type Settlement } from "./host-push.ts";
import type { NamePool } from "./names.ts";
import { planType } from "./plan.ts";
import { planSuspects } from "./plan-suspects.ts";
import type { Plan } from "./planning.ts";
import type { DeltaRequest, Received, SotwRequest } from "./request.ts";
import type { Response } from "./response.ts";
import type { RouteApart } from "./route-parts.ts";
import { receiveSotw } from "./sotw.ts";
import type { Steps } from "./steps.ts";
import type { TypeState } from "./type-state.ts";
import type { Versions } from "./version.ts";
import { createWarming } from "./warming.ts";

export type { Response };

export interface StreamStateOptions {
  readonly variant: "sotw" | "delta";
  readonly session: ProxySession;
  readonly versions: Versions;
  /** Shared by all streams of a server. */
  readonly steps: Steps;
  readonly pool: NamePool;
  /** Set where the stream may have virtual hosts one by one; `apart` is shared by all streams of a server. */
  readonly hosts?: { readonly enabled: boolean; readonly apart: RouteApart };
  readonly times: HoldBackTimes;
  /** What time it is while names are looked up; where left out, all are looked up at once. */
  readonly clockMs?: () => number;
  readonly onHeldBack: (held: Held) => void;
}

/** For how long names are looked up for one response; the rest follows in the next. */
const lookMs = 20;
/** The clock is asked for every so many names. */
const clockEvery = 32;

export interface StreamState {
  receiveSotw(request: SotwRequest, nowMs: number): Received;
  receiveDelta(request: DeltaRequest<WireType>, nowMs: number): Received;
  /** The source has news; without any, everything may be different. */
  changed(news?: News): void;
  /** Whether `next` is worth asking. */
  pending(): boolean;
  next(nowMs: number): Response | undefined;
  /** Whether the next one is a part of the last: both are to be written together. */
  continues(): boolean;
  /** When `wake` must be called at the latest. */
  wakeAtMs(): number | undefined;
  wake(): void;
  states(): IteratorObject<TypeState>;
  /** Undefined where the client follows nothing of the type. */
  state(type: ResourceType): TypeState | undefined;
  held(): readonly Held[];
  /** Whether the hosts of this route configuration are sent one by one. */
  isApart(route: string): boolean;
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
  const warming = createWarming(variant, states);
  const stateOptions = { pool, session, onAccepted: holdBack.noteAccepted, onOfferedAgain };
  const hosts = options.hosts && createHostPush({ ...options.hosts, versions: options.versions, isAsked });
  /** Parts of one response that follow each other with nothing between. */
  const outbox: Response[] = [];
  /** Of any type: a client may start a type over, and its answers of before must not count for what it is sent then. */
  let lastNonce = "";
  const planning = { variant, session, holdBack, steps, look, goOn: (type: ResourceType) => void dirty.add(type) };

  function onOfferedAgain(type: ResourceType, resources: readonly Resource[]): void {
    if (type === types.cluster && warming.noteOfferedAgain(resources)) dirty.add(types.endpoint);
  }

  function look(): () => boolean {
    const { clockMs } = options;
    if (!clockMs) return () => false;
    const endMs = clockMs() + lookMs;
    let looked = 0;
    return () => ++looked % clockEvery === 0 && clockMs() >= endMs;
  }

  function received(type: ResourceType, result: Received): Received {
    if (result.dirty || states.get(type)?.isOwing) dirty.add(type);
    // Any answer may be the one that something waits for.
    if (result.event !== "stale") wake();
    return result;
  }

  function wake(): void {
    const waiting = holdBack.waitingTypes();
    if (waiting.size > 0) for (const type of waiting) dirty.add(type);
    if (hosts?.wakeAtMs() !== undefined) dirty.add(types.route);
  }

  function delta(request: DeltaRequest, nowMs: number): Received {
    const isFirst = request.type === types.endpoint && !states.has(types.endpoint);
    const result = receiveDelta(states, request, nowMs, { session, options: stateOptions });
    if (isFirst) warming.noteEndpoints();
    return received(request.type, result);
  }

  function isAsked(route: string): boolean {
    return states.get(types.route)?.isSubscribed(route) ?? false;
  }

  function receiveRoutes(request: DeltaRequest, nowMs: number): Received {
    outbox.push(...(hosts?.noteRoutes(request) ?? []));
    const received = settleRoutes(request, nowMs);
    outbox.push(...(hosts?.matchClaims() ?? []));
    return received;
  }

  function settleRoutes(request: DeltaRequest, nowMs: number): Received {
    const settlement = hosts?.settle(request.nonce, request.error);
    if (!settlement) return delta(request, nowMs);
    const { type, subscribe, unsubscribe, initial } = request;
    const result = delta({ nonce: "", ...settlement.whole, type, subscribe, unsubscribe, initial }, nowMs);
    sendAgain(settlement);
    return { ...result, event: request.error === undefined ? "ack" : "nack" };
  }

  function receiveHosts({ initial, nonce, error }: DeltaRequest<WireType>, nowMs: number): Received {
    if (nonce === "") {
      hosts?.noteClaims(initial);
      outbox.push(...(hosts?.matchClaims() ?? []));
      dirty.add(types.route);
      return { event: "subscribe", dirty: true };
    }
    const settlement = hosts?.settle(nonce, error);
    if (!settlement) return { event: "stale", dirty: false };
    if (settlement.whole) {
      const nothing = { subscribe: [], unsubscribe: [], initial: new Map<string, string>() };
      delta({ type: types.route, ...nothing, ...settlement.whole }, nowMs);
    }
    sendAgain(settlement);
    return { event: error === undefined ? "ack" : "nack", dirty: dirty.size > 0 };
  }

  function sendAgain({ again }: Settlement): void {
    const routes = states.get(types.route);
    for (const name of again) if (routes?.sent(name)) routes.mustSend.add(name);
    if (again.length > 0) dirty.add(types.route);
  }

  /** The first of the responses that say it; where there is nothing to say, it counts as answered. */
  function apart(response: Response, nowMs: number): Response | undefined {
    if (!hosts || response.type !== types.route) return response;
    const [first, ...others] = hosts.translate(response);
    outbox.push(...others);
    if (!first) states.get(types.route)?.accept(response.nonce, nowMs);
    return first;
  }

  /** What the client may have refused, by itself; in a whole set it is offered once more among the others. */
  function apartOthers(state: TypeState): Plan | undefined {
    if (!state.hasSuspects) return undefined;
    const names = state.refusals?.takeSuspects() ?? [];
    if (variant === "sotw" && isWholeSet(state.type)) {
      state.retry(names);
      return undefined;
    }
    // What else is to be sent comes after it.
    dirty.add(state.type);
    const meant = variant === "delta" ? names : names.filter((name) => state.sent(name));
    return meant.length === 0 ? undefined : planSuspects(state, meant);
  }

  function record(state: TypeState, plan: Plan, nowMs: number): Response {
    const { version, nonce } = options.versions.shared(lastNonce);
    lastNonce = nonce;
    const { changes, before, whole } = plan;
    state.recordSent({ version, nonce, changes, before, whole }, nowMs);
    if (state.type === types.cluster) {
      if (warming.noteClusters(plan)) dirty.add(types.endpoint);
    }
    // From now on its answer is awaited, and clusters may have to wait with it.
    else if (holdBack.waitingTypes().has(types.cluster)) dirty.add(types.cluster);
    return { type: state.type, version, nonce, resources: plan.resources, removed: plan.removed };
  }

  return {
    receiveSotw: (request, nowMs) => received(request.type, receiveSotw(states, request, nowMs, stateOptions)),
    receiveDelta(request, nowMs) {
      if (!isOfResources(request)) return receiveHosts(request, nowMs);
      return request.type === types.route ? receiveRoutes(request, nowMs) : delta(request, nowMs);
    },
    changed(news) {
      for (const type of (news ?? states).keys()) {
        const state = states.get(type);
        if (!state) continue;
        state.noteNews(news?.get(type));
        dirty.add(type);
      }
      wake();
    },
    pending: () => outbox.length + dirty.size > 0,
    continues: () => outbox.length > 0,
    next(nowMs) {
      const part = outbox.shift();
      if (part) return part;
      for (const type of pushOrder) {
        if (dirty.size === 0) return undefined;
        if (!dirty.delete(type)) continue;
        if (type === types.route && hosts?.awaits(nowMs)) continue;
        const state = states.get(type);
        const plan = state && (apartOthers(state) ?? planType(state, planning, nowMs));
        const response = state && plan && apart(record(state, plan, nowMs), nowMs);
        if (response) return response;
      }
      return undefined;
    },
    wakeAtMs() {
      const [held, awaited] = [holdBack.wakeAtMs(), hosts?.wakeAtMs()];
      return held === undefined || awaited === undefined ? (held ?? awaited) : Math.min(held, awaited);
    },
    wake,
    states: () => states.values(),
    state: (type) => states.get(type),
    held: holdBack.held,
    isApart: (route) => hosts?.isApart(route) ?? false,
  };
}

const isOfResources = (request: DeltaRequest<WireType>): request is DeltaRequest => request.type !== virtualHostType;
