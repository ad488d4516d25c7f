/** A state-of-the-world request in; the type's subscription and acknowledgement brought up to date, and what it was, out. */
import type { ResourceType } from "../../model/index.ts";
import { isWildcardType } from "../type-info.ts";
import type { Received, SotwRequest } from "./request.ts";
import { TypeState, type TypeStateOptions } from "./type-state.ts";

export function receiveSotw(
  states: Map<ResourceType, TypeState>,
  request: SotwRequest,
  nowMs: number,
  options: TypeStateOptions,
): Received {
  const state = states.get(request.type);
  if (!state || request.nonce === "") return begin(states, request, new TypeState(request.type, options));
  const settled =
    request.error === undefined
      ? state.accept(request.nonce, nowMs)
      : state.reject(request.nonce, { message: request.error }, nowMs);
  // The client will ask again with the newest nonce, so the names of an older one say nothing.
  if (settled === "never-sent" || settled === "superseded") return { event: "stale", dirty: false };
  if (unsubscribes(state, request)) {
    return end(states, request.type);
  }
  return { event: request.error === undefined ? "ack" : "nack", dirty: setNames(state, request.names) };
}

/** First request of the type on this stream, or the client starts over. */
function begin(states: Map<ResourceType, TypeState>, request: SotwRequest, state: TypeState): Received {
  if (request.names.length === 0 && !isWildcardType(request.type)) {
    return end(states, request.type);
  }
  states.get(request.type)?.end();
  const names = new Set(request.names);
  state.resumed = request.version !== "";
  state.wildcard = names.size === 0 || (isWildcardType(request.type) && names.delete("*"));
  state.names.replace(names);
  state.mustAnswer = true;
  states.set(request.type, state);
  return { event: "subscribe", dirty: true };
}

function end(states: Map<ResourceType, TypeState>, type: ResourceType): Received {
  states.get(type)?.end();
  states.delete(type);
  return { event: "unsubscribe", dirty: false };
}

/** No names mean all only for as long as none was ever named (xDS protocol, "wildcard mode"). */
function unsubscribes(state: TypeState, request: SotwRequest): boolean {
  if (request.names.length > 0) return false;
  return !isWildcardType(request.type) || state.names.size > 0;
}

/** Whether anything is asked for that was not, or the other way round. */
function setNames(state: TypeState, names: readonly string[]): boolean {
  if (names.length === 0) return false;
  // Nearly every acknowledgement repeats the names as they were.
  if (names.length === state.names.size && !state.wildcard && names.every((name) => state.names.has(name)))
    return false;
  const wanted = new Set(names);
  const wildcard = isWildcardType(state.type) && wanted.delete("*");
  const removed = [...state.names].filter((name) => !wanted.has(name));
  const added = wanted
    .values()
    .filter((name) => !state.names.has(name))
    .toArray();
  if (added.length === 0 && removed.length === 0 && wildcard === state.wildcard) return false;
  if (added.length > 0 || (wildcard && !state.wildcard)) state.mustAnswer = true;
  for (const name of removed) state.names.delete(name);
  if (wildcard && !state.wildcard) state.followAll();
  if (!wildcard && state.wildcard) state.followNamed();
  if (!wildcard) for (const name of removed) state.forget(name);
  for (const name of added) state.follow(name);
  state.names.settle();
  return true;
}
