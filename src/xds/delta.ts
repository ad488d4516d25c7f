/** An incremental request in; the type's subscription and acknowledgement brought up to date, and what it was, out. */
import type { Resource, ResourceType } from "../model/index.ts";
import type { DeltaRequest, Received } from "./request.ts";
import { isWildcardType } from "./type-info.ts";
import { TypeState } from "./type-state.ts";

export type Lookup = (type: ResourceType, name: string) => Resource | undefined;

export function receiveDelta(
  states: Map<ResourceType, TypeState>,
  request: DeltaRequest,
  nowMs: number,
  lookup: Lookup,
): Received {
  const state = states.get(request.type);
  if (!state) return begin(states, request, lookup);
  let event: Received["event"] = "subscribe";
  if (request.nonce !== "") {
    const settled =
      request.error === undefined
        ? state.accept(request.nonce, nowMs)
        : state.reject(request.nonce, request.error, nowMs);
    if (settled === "never-sent") return { event: "stale", dirty: false };
    event = request.error === undefined ? "ack" : "nack";
  }
  // Envoy puts subscription changes into its acknowledgements and never repeats them, so they count in any case.
  return { event, dirty: changeNames(state, request) };
}

function begin(states: Map<ResourceType, TypeState>, request: DeltaRequest, lookup: Lookup): Received {
  const state = new TypeState(request.type);
  if (request.initial.size > 0) state.resume(heldBefore(request, lookup));
  state.wildcard = request.subscribe.length === 0 && isWildcardType(request.type);
  changeNames(state, request);
  for (const name of request.initial.keys()) state.mustSend.delete(name);
  state.mustAnswer = state.wildcard || state.names.size > 0;
  states.set(request.type, state);
  return { event: "subscribe", dirty: state.mustAnswer };
}

/** What the client still has, as the resource itself where its version is today's. */
function heldBefore(request: DeltaRequest, lookup: Lookup): ReadonlyMap<string, Resource> {
  const held = new Map<string, Resource>();
  for (const [name, version] of request.initial) {
    const current = lookup(request.type, name);
    held.set(name, current?.hash === version ? current : outdated(name, version));
  }
  return held;
}

/** A version of which only the name is known. */
const outdated = (name: string, hash: string): Resource => ({ name, hash, pieces: [], size: 0, needs: [] });

export function isOutdated(resource: Resource | undefined): boolean {
  return resource !== undefined && resource.pieces.length === 0;
}

function changeNames(state: TypeState, request: DeltaRequest): boolean {
  for (const name of request.unsubscribe) unsubscribe(state, name);
  for (const name of request.subscribe) subscribe(state, name);
  return request.subscribe.length > 0 || request.unsubscribe.length > 0;
}

/** What is asked for by name is sent even if the client should have it: it may have dropped it. */
function subscribe(state: TypeState, name: string): void {
  state.mustAnswer = true;
  if (name === "*" && isWildcardType(state.type)) {
    state.wildcard = true;
    return;
  }
  state.names.add(name);
  state.absent.delete(name);
  state.mustSend.add(name);
}

function unsubscribe(state: TypeState, name: string): void {
  if (name === "*" && state.wildcard) {
    state.wildcard = false;
    state.forget([...state.sent.keys()].filter((one) => !state.names.has(one)));
    return;
  }
  if (!state.names.delete(name)) return;
  // Under a wildcard the client has just dropped something that it still asks for.
  if (state.wildcard) state.mustSend.add(name);
  else state.forget([name]);
}
