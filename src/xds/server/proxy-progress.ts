/** A connection in; how far its proxy is with single resources out. Nothing is kept for it: the stream's own state tells. */
import type { Resource, ResourceSet, ResourceType } from "../../model/index.ts";
import { types } from "../../model/index.ts";
import type { ProxyNode } from "../source.ts";
import type { TypeState } from "../stream/type-state.ts";
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
  /** The same, and what is on its way to it. */
  mayHave(type: ResourceType, name: string): Iterable<Resource>;
  /** Names of which it may have something else than is wanted now; some of them may come several times. */
  unsettled(type: ResourceType): IteratorObject<string>;
  /**
   * Of a type, what it was sent last of each name that it follows; undefined while anything of the type is on its way, held back
   * or refused, for what it does not follow, and for who asks for all and for some by name.
   */
  sent(type: ResourceType): SentOfType | undefined;
  /** What the proxy said of what it refuses of this name. */
  words(type: ResourceType, name: string): string;
  /**
   * Where it has answered all that it was sent of a type, and the set is what it was sent: what it follows of it. Proxies
   * with the same of every type are equally far with every resource. Undefined where single resources have to be asked for.
   */
  follows(type: ResourceType, set: ResourceSet): Follows | undefined;
}

export interface SentOfType {
  /** Whether it follows every name there is. */
  readonly isAll: boolean;
  /** Where it follows a name of which there was nothing to send, undefined. */
  readonly resources: ReadonlyMap<string, Resource | undefined>;
}

/** Names of which it has what the set has. The same object means the same names. */
export interface Follows {
  has(name: string): boolean;
}

const everything: Follows = { has: () => true };
const nothing: Follows = { has: () => false };

/** A listener that was just taken asks for its routes in the same turn of Envoy, be it after the answer. */
const askingMs = 1000;

/** All of them are asked after each change, so that each is one object. */
class StreamProgress implements ProxyProgress {
  readonly #connection: Connection;
  readonly #nowMs: number;

  constructor(connection: Connection, nowMs: number) {
    this.#connection = connection;
    this.#nowMs = nowMs;
  }

  get node(): ProxyNode {
    return this.#connection.node;
  }

  isSettled(): boolean {
    const { state } = this.#connection;
    return !state.pending() && state.states().every((own) => own.isSettled);
  }

  refusals(): IteratorObject<readonly [ResourceType, string, string]> {
    return this.#connection.state
      .states()
      .flatMap((own) => [...(own.refusals?.entries() ?? [])].map(([name, words]) => [own.type, name, words] as const));
  }

  of(type: ResourceType, wanted: Resource): Progress {
    const own = this.#state(type);
    if (!own?.isSubscribed(wanted.name)) return this.#mayAsk(type, wanted) ? "awaited" : "unasked";
    if (own.accepted(wanted.name)?.hash === wanted.hash) return "has";
    return own.refusals?.was(wanted.name, wanted.hash) ? "refused" : "awaited";
  }

  accepted(type: ResourceType, name: string): Resource | undefined {
    return this.#state(type)?.accepted(name);
  }

  mayHave(type: ResourceType, name: string): Iterable<Resource> {
    return this.#state(type)?.mayHave(name) ?? [];
  }

  unsettled(type: ResourceType): IteratorObject<string> {
    return this.#state(type)?.unsettled() ?? [].values();
  }

  sent(type: ResourceType): SentOfType | undefined {
    const own = this.#state(type);
    if (!own?.answered || own.isOwing || this.#connection.state.pending() || own.isUnsettled) return undefined;
    if (own.wildcard && own.names.size > 0) return undefined;
    const names = own.wildcard ? own.sentNames() : own.names;
    const resources = new Map(names[Symbol.iterator]().map((name) => [name, own.sent(name)] as const));
    return { isAll: own.wildcard, resources };
  }

  words(type: ResourceType, name: string): string {
    return this.#state(type)?.refusals?.wordsOf(name) ?? "";
  }

  follows(type: ResourceType, set: ResourceSet): Follows | undefined {
    const own = this.#state(type);
    if (own && (own.base !== set || own.isUnsettled)) return undefined;
    if (own?.wildcard) return everything;
    if (this.#mayAskSoon(type)) return undefined;
    return own ? (own.names.pooled ?? own.names) : nothing;
  }

  #state(type: ResourceType): TypeState | undefined {
    return this.#connection.state.state(type);
  }

  /** Whether the proxy may be about to ask for it, as a listener or a cluster that it has taken makes it do. */
  #mayAsk(type: ResourceType, { name }: Resource): boolean {
    if (type !== types.endpoint) return this.#mayAskSoon(type);
    return this.#state(types.cluster)?.accepted(name)?.needs.includes(name) === true;
  }

  #mayAskSoon(type: ResourceType): boolean {
    const listeners = type === types.route ? this.#state(types.listener) : undefined;
    return listeners?.wildcard === true && this.#nowMs - listeners.ackedAtMs < askingMs;
  }
}

export const proxyProgress = (connection: Connection, nowMs: number): ProxyProgress =>
  new StreamProgress(connection, nowMs);
