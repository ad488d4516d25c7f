/** Responses sent and answers received in; what the client had before those that are open or were refused out. */
import { dropOldest } from "../../lib/index.ts";
import type { Resource } from "../../model/index.ts";
import type { Changes } from "./steps.ts";

export interface InFlight {
  readonly nonce: string;
  readonly changes: Changes;
  /** The same names as the client was last sent them. */
  readonly before: Changes;
  /** It had all resources, also those that did not change. */
  readonly whole: boolean;
  readonly sentAtMs: number;
}

/** A client that never answers must not make the list grow. */
export const maxInFlight = 16;
/** Their nonces are short, and are known for longer: a client that was busy answers all, and asks for more with it. */
export const maxExpired = 1024;

const nothing: readonly InFlight[] = [];
const none: ReadonlySet<string> = new Set();
const noNames: readonly string[] = [];

export class Unanswered {
  /** In the order of sending, which is the order of answers: an answer takes away the first and costs nothing more. */
  #open: readonly InFlight[] = nothing;
  /** Names of refused responses, with the state that the client still has. */
  #doubts: Map<string, Resource | undefined> | undefined;
  /** Names that the client gave up, with the responses that were open then: they say nothing of it any more. */
  #givenUp: Map<string, readonly InFlight[]> | undefined;
  /** These three are made when there is something to put into them: nearly every client takes all, in order. */
  #expired: Set<string> | undefined;

  add(response: InFlight): void {
    this.#open = [...this.#open, response];
    const [oldest] = this.#open;
    if (!oldest || this.#open.length <= maxInFlight) return;
    this.refuse(oldest, new Set(oldest.changes.keys()));
    this.#expire(oldest.nonce);
  }

  /** Whether any answer is awaited. */
  get isOpen(): boolean {
    return this.#open.length > 0;
  }

  nonces(): readonly string[] {
    return this.#open.map(({ nonce }) => nonce);
  }

  /** Whether the nonce is of a response whose answer was not waited for. */
  isExpired(nonce: string): boolean {
    return this.#expired?.has(nonce) === true;
  }

  /** What the client surely never had, and was told to drop, is in no doubt: else it would be kept for ever. */
  #dropDeparted({ changes }: InFlight): void {
    for (const name of changes.keys())
      if (!changes.get(name) && !this.#doubts?.get(name) && !this.#hasOpen(name)) this.#doubts?.delete(name);
  }

  /**
   * What is answered with this nonce; undefined where it is not open. Who answers a whole set answers those before it, too:
   * Envoy says nothing of clusters while one of them warms, and then has one answer for all that came meanwhile.
   */
  answered(nonce: string): InFlight | undefined {
    const at = this.#open.findIndex((response) => response.nonce === nonce);
    const found = this.#open[at];
    if (!found?.whole || at === 0) return found;
    const skipped = this.#open.slice(0, at);
    const all = this.#together([...skipped, found], found);
    this.#open = [all, ...this.#open.slice(at + 1)];
    for (const one of skipped) this.#expire(one.nonce);
    return all;
  }

  #together(responses: readonly InFlight[], last: InFlight): InFlight {
    const changes = new Map<string, Resource | undefined>();
    const before = new Map<string, Resource | undefined>();
    for (const one of responses)
      for (const name of one.changes.keys()) {
        if (this.#isGivenUp(name, one)) continue;
        // Those before the last were taken: a refusal is of what that one has.
        if (!before.has(name) || one === last) before.set(name, one.before.get(name));
        changes.set(name, one.changes.get(name));
      }
    return { ...last, changes, before };
  }

  #expire(nonce: string): void {
    this.#expired ??= new Set();
    this.#expired.add(nonce);
    dropOldest(this.#expired, maxExpired);
  }

  /** Of those that are open, the first that changes this name. */
  first(name: string): InFlight | undefined {
    return this.#open.find((response) => response.changes.has(name) && !this.#isGivenUp(name, response));
  }

  /** What the client had of this name before all that is open; undefined when nothing of it is. */
  before(name: string): { readonly resource: Resource | undefined } | undefined {
    if (this.#doubts?.has(name)) return { resource: this.#doubts.get(name) };
    const first = this.first(name);
    return first && { resource: first.before.get(name) };
  }

  /** What open responses have of this name, in the order of sending. */
  *sent(name: string): Generator<Resource> {
    for (const response of this.#open) {
      const resource = this.#isGivenUp(name, response) ? undefined : response.changes.get(name);
      if (resource) yield resource;
    }
  }

  /** Whether an open response takes the name away, even if a later one brings it back. */
  removes(name: string): boolean {
    return this.#open.some(({ changes }) => changes.has(name) && changes.get(name) === undefined);
  }

  sinceMs(name: string): number | undefined {
    return this.first(name)?.sentAtMs;
  }

  *names(): Generator<string> {
    if (this.#doubts) yield* this.#doubts.keys();
    for (const { changes } of this.#open) yield* changes.keys();
  }

  get hasNames(): boolean {
    return (this.#doubts?.size ?? 0) > 0 || this.#open.some(({ changes }) => changes.size > 0);
  }

  /** The client has all of this response but these names, and so nothing of an earlier one that it has not answered. */
  settle(response: InFlight, but: ReadonlySet<string> = none): void {
    if (response.whole)
      for (const name of this.#doubts?.keys() ?? noNames) if (!but.has(name)) this.#doubts?.delete(name);
    if (but.size === 0) this.#take(response, response.changes);
    else this.refuse(response, but.intersection(new Set(response.changes.keys())));
  }

  /** These names of the response were not taken; the others were. */
  refuse(response: InFlight, names: ReadonlySet<string>): void {
    this.#doubts ??= new Map();
    for (const name of names)
      if (!this.#doubts.has(name) && !this.#isGivenUp(name, response))
        this.#doubts.set(name, response.before.get(name));
    this.#take(response, without(response, names).changes);
    this.#dropDeparted(response);
  }

  /** The client has nothing of this name until it takes it once more. */
  doubt(name: string): void {
    this.#doubts ??= new Map();
    this.#doubts.set(name, undefined);
  }

  forget(name: string): void {
    this.#doubts?.delete(name);
    if (!this.#hasOpen(name)) return;
    this.#givenUp ??= new Map();
    this.#givenUp.set(name, this.#open);
  }

  #take(response: InFlight, settled: Changes): void {
    if (this.#doubts?.size) for (const name of settled.keys()) this.#doubts.delete(name);
    const at = this.#open.indexOf(response);
    // Answers come in the order of sending, so mostly there is none before it.
    if (at === 0) this.#open = this.#open.length === 1 ? nothing : this.#open.slice(1);
    else this.#open = this.#open.filter((_, i) => i !== at).map((one, i) => (i < at ? without(one, settled) : one));
    for (const name of this.#givenUp?.size ? response.changes.keys() : [])
      if (this.#givenUp?.has(name) && !this.#hasOpen(name)) this.#givenUp.delete(name);
    if (this.#open.length === 0) this.#expired = undefined;
  }

  #hasOpen(name: string): boolean {
    return this.#open.some(({ changes }) => changes.has(name));
  }

  /** How many names are remembered beside the open responses. */
  get kept(): number {
    return (this.#doubts?.size ?? 0) + (this.#givenUp?.size ?? 0);
  }

  #isGivenUp(name: string, response: InFlight): boolean {
    return this.#givenUp?.get(name)?.some((one) => one.nonce === response.nonce) === true;
  }
}

function without(response: InFlight, gone: Pick<Changes, "has">): InFlight {
  const names = [...response.changes.keys()].filter((name) => !gone.has(name));
  return {
    ...response,
    changes: new Map(names.map((name) => [name, response.changes.get(name)])),
    before: new Map(names.map((name) => [name, response.before.get(name)])),
  };
}
