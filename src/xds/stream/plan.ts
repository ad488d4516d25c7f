/**
 * One type's state and the source in, the next response of that type out. A stream that is in step is handed what was
 * worked out once for all of its class; only one that is behind, or asks for other names, gets a plan of its own.
 */
import { type ResourceSet, types } from "../../model/index.ts";
import { isWholeSet } from "../type-info.ts";
import { planOwn } from "./plan-own.ts";
import type { Plan, Planning } from "./planning.ts";
import type { Step } from "./steps.ts";
import type { TypeState } from "./type-state.ts";

/** The state is brought to what the plan says: whoever asks must send it. */
export function planType(state: TypeState, planning: Planning, nowMs: number): Plan | undefined {
  planning.holdBack.begin(state.type);
  if (planning.variant === "delta" && planning.holdBack.awaitsRoutes(state, nowMs)) return undefined;
  const current = planning.session.all(state.type);
  const step = sharedStep(state, current, planning);
  return step ? planShared(state, current, step, planning) : planOwn(state, current, planning, nowMs);
}

/** Undefined where something about this stream is its own. */
function sharedStep(state: TypeState, current: ResourceSet, planning: Planning): Step | undefined {
  if (!state.isInStep) return undefined;
  const step = planning.steps.between(state.base, current, state.news);
  if (planning.holdBack.mayHold(state) && (step.needsMore || mayBeKept(state, step))) return undefined;
  return state.wildcard || asksForAll(state, step, current, planning) ? step : undefined;
}

/** What is removed may have to stay until nothing names it. */
function mayBeKept(state: TypeState, step: Step): boolean {
  return step.removed.length > 0 && (state.type === types.cluster || state.type === types.endpoint);
}

function asksForAll(state: TypeState, step: Step, current: ResourceSet, { session, steps }: Planning): boolean {
  const { news, names, type } = state;
  if (!news) return names.pooled !== undefined && steps.isAll(names.pooled, current);
  for (const name of step.changes.keys()) if (!names.has(name)) return false;
  // What is in no set may be there by name alone.
  for (const name of news)
    if (current.get(name) === undefined && names.has(name) && session.get(type, name) !== undefined) return false;
  return true;
}

function planShared(state: TypeState, current: ResourceSet, step: Step, planning: Planning): Plan | undefined {
  const { changes, before } = step;
  const isDelta = planning.variant === "delta";
  state.reach(current);
  if (!isDelta && isWholeSet(state.type)) {
    if (changes.size === 0 && !state.mustAnswer) return undefined;
    return { resources: planning.steps.whole(current), removed: [], changes, before, whole: true };
  }
  // State of the world has no word for "gone" in the other types: the client drops them when it stops asking.
  const removed = isDelta ? step.removed : [];
  const { resources } = step;
  if (resources.length === 0 && removed.length === 0 && !state.mustAnswer) return undefined;
  return { resources, removed, changes, before, whole: false };
}
