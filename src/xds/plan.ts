/** One type's state and the source in, the next response of that type out: what to send, what to remove, what is then known. */
import { type Resource, types } from "../model/index.ts";
import type { createDiff } from "./diff.ts";
import { flat } from "./flat.ts";
import type { HoldBack } from "./hold-back.ts";
import type { ProxySession } from "./source.ts";
import { isWholeSet } from "./type-info.ts";
import type { Changes, TypeState } from "./type-state.ts";

export interface Plan {
  readonly resources: readonly Resource[];
  readonly removed: readonly string[];
  readonly changes: Changes;
  /** What the client has once it takes this. */
  readonly next: ReadonlyMap<string, Resource>;
}

export interface Planning {
  readonly variant: "sotw" | "delta";
  readonly session: ProxySession;
  readonly holdBack: HoldBack;
  readonly diff: ReturnType<typeof createDiff>;
}

export function planType(state: TypeState, planning: Planning, nowMs: number): Plan | undefined {
  planning.holdBack.begin(state.type);
  if (planning.variant === "delta" && planning.holdBack.awaitsRoutes(state, nowMs)) return undefined;
  state.keepRefusals((name) => lookup(state, name, planning.session)?.hash);
  const whole = planning.variant === "sotw" && isWholeSet(state.type);
  const target = state.wildcard ? wildcardTarget(state, planning, nowMs) : namedTarget(state, planning, nowMs);
  // A whole set with a part left out would delete that part, so a first answer waits as one.
  if (whole && !state.answered && planning.holdBack.waitingTypes().has(state.type)) return undefined;
  const changes = withForced(state, target, planning.diff(state.sent, target));
  return whole ? wholePlan(state, target, changes, planning) : partialPlan(state, target, changes, planning);
}

/** The source's own map where nothing has to be held, so that all streams of a class share it. */
function wildcardTarget(state: TypeState, planning: Planning, nowMs: number): ReadonlyMap<string, Resource> {
  const wanted = flat(planning.session.all(state.type));
  const changes = planning.diff(state.sent, wanted);
  const kept = new Map<string, Resource | undefined>();
  for (const [name, resource] of changes)
    if (resource && !planning.holdBack.mayGo(state, resource, nowMs)) kept.set(name, state.sent.get(name));
  if (planning.variant === "sotw") keepLastGood(state, wanted, kept);
  if (state.type === types.cluster) {
    const removed = new Set([...changes].filter(([, resource]) => !resource).map(([name]) => name));
    if (removed.size > 0)
      for (const name of planning.holdBack.stillNamed(removed, nowMs)) kept.set(name, state.sent.get(name));
  }
  return kept.size === 0 ? wanted : merge(wanted, kept);
}

function namedTarget(state: TypeState, planning: Planning, nowMs: number): ReadonlyMap<string, Resource> {
  const target = new Map<string, Resource>();
  for (const name of state.names) {
    const wanted = planning.session.get(state.type, name);
    const shown = wanted ? allowed(state, wanted, planning, nowMs) : leftover(state, name, planning);
    if (shown) target.set(name, shown);
  }
  return target;
}

function allowed(state: TypeState, wanted: Resource, { holdBack }: Planning, nowMs: number): Resource | undefined {
  const sent = state.sent.get(wanted.name);
  return sent?.hash === wanted.hash || holdBack.mayGo(state, wanted, nowMs) ? wanted : sent;
}

function leftover(state: TypeState, name: string, { holdBack }: Planning): Resource | undefined {
  const sent = state.sent.get(name);
  return sent && holdBack.keepsEndpoints(state, name) ? sent : undefined;
}

/** A version that the client refused is not offered again with every change of the set; what it had before stays. */
function keepLastGood(
  state: TypeState,
  wanted: ReadonlyMap<string, Resource>,
  kept: Map<string, Resource | undefined>,
): void {
  for (const name of state.refusedNames()) {
    const resource = wanted.get(name);
    if (resource && state.wasRefused(name, resource.hash)) kept.set(name, state.accepted(name));
  }
}

function merge(
  wanted: ReadonlyMap<string, Resource>,
  kept: ReadonlyMap<string, Resource | undefined>,
): ReadonlyMap<string, Resource> {
  const target = new Map(wanted);
  for (const [name, resource] of kept) {
    if (resource) target.set(name, resource);
    else target.delete(name);
  }
  return target;
}

function withForced(state: TypeState, target: ReadonlyMap<string, Resource>, changes: Changes): Changes {
  if (state.mustSend.size === 0) return changes;
  const all = new Map(changes);
  for (const name of state.mustSend) {
    const resource = target.get(name);
    if (resource) all.set(name, resource);
  }
  return all;
}

function wholePlan(
  state: TypeState,
  target: ReadonlyMap<string, Resource>,
  changes: Changes,
  planning: Planning,
): Plan | undefined {
  // Taking back what the client refused anyway is no reason for a response of its own.
  const wanted = flat(planning.session.all(state.type));
  const news = changes.keys().some((name) => !state.wildcard || !state.wasRefused(name, wanted.get(name)?.hash ?? ""));
  if (!news && !state.mustAnswer) return undefined;
  return { resources: [...target.values()], removed: [], changes, next: target };
}

function partialPlan(
  state: TypeState,
  target: ReadonlyMap<string, Resource>,
  changes: Changes,
  planning: Planning,
): Plan | undefined {
  const resources: Resource[] = [];
  const removed: string[] = [];
  for (const [name, resource] of changes) {
    if (resource) resources.push(resource);
    else removed.push(name);
  }
  // State of the world has no word for "gone" in these types: the client drops them when it stops asking.
  const told =
    planning.variant === "delta" ? [...removed, ...newlyAbsent(state, target, changes, planning.session)] : [];
  if (resources.length === 0 && told.length === 0 && !state.mustAnswer) {
    if (removed.length > 0) state.forget(removed);
    return undefined;
  }
  return { resources, removed: told, changes, next: target };
}

/** Names that were asked for and do not exist: said once, so that the client need not wait for its timeout. */
function newlyAbsent(
  state: TypeState,
  target: ReadonlyMap<string, Resource>,
  changes: Changes,
  session: ProxySession,
): string[] {
  const missing: string[] = [];
  for (const name of state.names) {
    const exists = target.has(name) || lookup(state, name, session) !== undefined;
    if (exists) state.absent.delete(name);
    else if (!state.absent.has(name)) {
      state.absent.add(name);
      if (!changes.has(name)) missing.push(name);
    }
  }
  return missing;
}

function lookup(state: TypeState, name: string, session: ProxySession): Resource | undefined {
  return state.wildcard ? session.all(state.type).get(name) : session.get(state.type, name);
}
