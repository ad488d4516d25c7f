/** An incremental request in; the type's subscription and acknowledgement brought up to date, and what it was, out. */
import type { Resource, ResourceType } from "../../model/index.ts";
import type { ProxySession } from "../source.ts";
import { isWildcardType } from "../type-info.ts";
import { outdated } from "./outdated.ts";
import type { DeltaRequest, Received } from "./request.ts";
import { TypeState, type TypeStateOptions } from "./type-state.ts";

export function receiveDelta(
  states: Map<ResourceType, TypeState>,
  request: DeltaRequest,
  nowMs: number,
  { session, options }: { readonly session: ProxySession; readonly options: TypeStateOptions },
): Received {
  const state = states.get(request.type);
  if (!state) return begin(states, request, session, new TypeState(request.type, options));
  let event: Received["event"] = "subscribe";
  if (request.nonce !== "") {
    const settled =
      request.error === undefined
        ? state.accept(request.nonce, nowMs)
        : state.reject(request.nonce, { message: request.error, refused: request.refused }, nowMs);
    if (settled === "never-sent") return { event: "stale", dirty: false };
    event = request.error === undefined ? "ack" : "nack";
  }
  // Envoy puts subscription changes into its acknowledgements and never repeats them, so they count in any case.
  return { event, dirty: changeNames(state, request) };
}

function begin(
  states: Map<ResourceType, TypeState>,
  request: DeltaRequest,
  session: ProxySession,
  state: TypeState,
): Received {
  // Many streams are handed the same long list of endpoints.
  if (!isWildcardType(request.type) && request.unsubscribe.length === 0) state.names.replace(request.subscribe);
  else beginNames(state, request);
  if (request.initial.size > 0) resume(state, request, session);
  state.mustAnswer = state.wildcard || state.names.size > 0;
  states.set(request.type, state);
  return { event: "subscribe", dirty: state.mustAnswer };
}

function beginNames(state: TypeState, { type, subscribe: asked, unsubscribe: givenUp }: DeltaRequest): void {
  const names = new Set(asked);
  for (const name of givenUp) names.delete(name);
  state.wildcard = isWildcardType(type) && (asked.length === 0 || names.delete("*"));
  state.names.replace(names);
}

/** What the client still has; where its version is not today's, only its name is known. */
function resume(state: TypeState, { type, initial }: DeltaRequest, session: ProxySession): void {
  const current = session.all(type);
  const differing = new Map<string, Resource | undefined>();
  // What is there by name alone is looked up when the answer is planned, at its pace: there may be very many.
  for (const [name, version] of initial)
    if (!state.isSubscribed(name) || current.get(name)?.hash !== version) differing.set(name, outdated(name, version));
  const asked = state.wildcard ? current.names() : state.names;
  for (const name of asked) if (!initial.has(name)) differing.set(name, undefined);
  state.resume(current, differing);
}

function changeNames(state: TypeState, request: DeltaRequest): boolean {
  if (request.subscribe.length === 0 && request.unsubscribe.length === 0) return false;
  for (const name of request.unsubscribe) unsubscribe(state, name);
  for (const name of request.subscribe) subscribe(state, name);
  state.names.settle();
  return true;
}

/** What is asked for by name is sent even if the client should have it: it may have dropped it. */
function subscribe(state: TypeState, name: string): void {
  state.mustAnswer = true;
  if (name === "*" && isWildcardType(state.type)) state.followAll();
  else state.follow(name);
}

function unsubscribe(state: TypeState, name: string): void {
  if (name === "*" && state.wildcard) state.followNamed();
  else if (!state.names.delete(name)) return;
  // Under a wildcard the client has just dropped something that it still asks for.
  else if (state.wildcard) state.sendBack(name);
  else state.forget(name);
}
