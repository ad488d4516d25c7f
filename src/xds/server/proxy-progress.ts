/** A connection in; how far its proxy is with single resources out. Nothing is kept for it: the stream's own state tells. */
import type { Resource, ResourceType } from "../../model/index.ts";
import { types } from "../../model/index.ts";
import type { ProxyNode } from "../source.ts";
import type { Connection } from "./ads-shared.ts";

/** `unasked`: the proxy follows it not, so that nothing of it is awaited. */
export type Progress = "has" | "awaited" | "refused" | "unasked";

export interface ProxyProgress {
  readonly node: ProxyNode;
  /** Whether it has been sent all that there is for it, and has answered. */
  isSettled(): boolean;
  /** What it refuses, by type and name, with its words. */
  refusals(): IteratorObject<readonly [ResourceType, string, string]>;
  /** Of a resource as it is wanted now. */
  of(type: ResourceType, wanted: Resource): Progress;
  /** What the proxy surely has of this name, as far as its answers tell. */
  accepted(type: ResourceType, name: string): Resource | undefined;
  /** What the proxy said of what it refuses of this name. */
  words(type: ResourceType, name: string): string;
}

/** A listener that was just taken asks for its routes in the same turn of Envoy, be it after the answer. */
const askingMs = 1000;

export function proxyProgress({ node, state }: Connection, nowMs: number): ProxyProgress {
  /** Whether the proxy may be about to ask for it, as a listener or a cluster that it has taken makes it do. */
  const mayAsk = (type: ResourceType, { name }: Resource): boolean => {
    if (type === types.endpoint) return state.state(types.cluster)?.accepted(name)?.needs.includes(name) === true;
    const listeners = type === types.route ? state.state(types.listener) : undefined;
    return listeners?.wildcard === true && nowMs - listeners.ackedAtMs < askingMs;
  };
  return {
    node,
    isSettled: () => !state.pending() && state.states().every((own) => own.isSettled),
    refusals: () =>
      state
        .states()
        .flatMap((own) => [...own.refusedNames()].map((name) => [own.type, name, own.refusedWords(name)] as const)),
    of(type, wanted) {
      const own = state.state(type);
      if (!own?.isSubscribed(wanted.name)) return mayAsk(type, wanted) ? "awaited" : "unasked";
      if (own.accepted(wanted.name)?.hash === wanted.hash) return "has";
      return own.wasRefused(wanted.name, wanted.hash) ? "refused" : "awaited";
    },
    accepted: (type, name) => state.state(type)?.accepted(name),
    words: (type, name) => state.state(type)?.refusedWords(name) ?? "",
  };
}
