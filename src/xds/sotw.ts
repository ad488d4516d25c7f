/** A state-of-the-world request in; the type's subscription and acknowledgement brought up to date, and what it was, out. */
import type { ResourceType } from "../model/index.ts";
import type { Received, SotwRequest } from "./request.ts";
import { isWildcardType } from "./type-info.ts";
import { TypeState } from "./type-state.ts";

export function receiveSotw(states: Map<ResourceType, TypeState>, request: SotwRequest, nowMs: number): Received {
  const state = states.get(request.type);
  if (!state || request.nonce === "") return begin(states, request);
  const settled =
    request.error === undefined
      ? state.accept(request.nonce, nowMs)
      : state.reject(request.nonce, request.error, nowMs);
  // The client will ask again with the newest nonce, so the names of an older one say nothing.
  if (settled === "never-sent" || settled === "superseded") return { event: "stale", dirty: false };
  if (unsubscribes(state, request)) {
    states.delete(request.type);
    return { event: "unsubscribe", dirty: false };
  }
  return { event: request.error === undefined ? "ack" : "nack", dirty: setNames(state, request.names) };
}

/** First request of the type on this stream, or the client starts over. */
function begin(states: Map<ResourceType, TypeState>, request: SotwRequest): Received {
  if (request.names.length === 0 && !isWildcardType(request.type)) {
    states.delete(request.type);
    return { event: "unsubscribe", dirty: false };
  }
  const state = new TypeState(request.type);
  state.resumed = request.version !== "";
  state.wildcard = request.names.length === 0;
  setNames(state, request.names);
  state.mustAnswer = true;
  states.set(request.type, state);
  return { event: "subscribe", dirty: true };
}

/** No names mean all only for as long as none was ever named (xDS protocol, "wildcard mode"). */
function unsubscribes(state: TypeState, request: SotwRequest): boolean {
  if (request.names.length > 0) return false;
  return !isWildcardType(request.type) || state.names.size > 0;
}

function setNames(state: TypeState, names: readonly string[]): boolean {
  if (names.length === 0) return false;
  const wanted = new Set(names);
  const wildcard = isWildcardType(state.type) && wanted.delete("*");
  const removed = state.names.difference(wanted);
  const added = wanted.difference(state.names);
  const changed = added.size > 0 || removed.size > 0 || wildcard !== state.wildcard;
  if (removed.size > 0 && !wildcard) state.forget(removed);
  for (const name of removed) state.names.delete(name);
  for (const name of added) {
    state.names.add(name);
    state.mustSend.add(name);
  }
  if (added.size > 0 || (wildcard && !state.wildcard)) state.mustAnswer = true;
  state.wildcard = wildcard;
  return changed;
}
