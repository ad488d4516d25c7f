/**
 * What one stream knows of one type: who asked for what, what was sent, what of it the client has accepted.
 * No I/O and no clock: requests and responses are told to it, it answers questions.
 */
import type { Resource, ResourceType } from "../model/index.ts";

/** A resource's new state in a response: undefined says that it is gone. */
export type Changes = ReadonlyMap<string, Resource | undefined>;

interface InFlight {
  readonly nonce: string;
  readonly changes: Changes;
  readonly sentAtMs: number;
}

/** A client that never answers must not make the list grow. */
const maxInFlight = 64;

export type Settled = "accepted" | "rejected" | "superseded" | "never-sent";

export class TypeState {
  readonly type: ResourceType;
  wildcard = false;
  readonly names = new Set<string>();
  /** What the client was last sent. For wildcard types the source's own map where possible, so that streams share it. */
  sent: ReadonlyMap<string, Resource> = new Map();
  /** Subscribed names that the client was told do not exist. */
  readonly absent = new Set<string>();
  /** Names to send although unchanged: newly subscribed, or needed again by a cluster that warms. */
  readonly mustSend = new Set<string>();
  /** The first request of a type is answered even with nothing, or the client would wait. */
  mustAnswer = false;
  /** The client had state of this type before this stream. */
  resumed = false;
  /** Whether a response of this type has been sent on this stream. */
  answered = false;
  nonce = "";
  version = "";
  ackedNonce = "";
  lastError = "";
  sentAtMs = 0;
  ackedAtMs = 0;
  nackedAtMs = 0;
  #inFlight: InFlight[] = [];
  /** Names whose sent state is not accepted, with the state that the client still has. */
  readonly #lastGood = new Map<string, Resource | undefined>();
  /** Hash of the version that the client refused. */
  readonly #refused = new Map<string, string>();

  constructor(type: ResourceType) {
    this.type = type;
  }

  isSubscribed(name: string): boolean {
    return this.wildcard || this.names.has(name);
  }

  /** What the client surely has, as far as its answers tell. */
  accepted(name: string): Resource | undefined {
    return this.#lastGood.has(name) ? this.#lastGood.get(name) : this.sent.get(name);
  }

  /** Names of which the client may hold something: sent, or sent away but not yet accepted as gone. */
  *heldNames(): Generator<string> {
    yield* this.sent.keys();
    for (const name of this.#lastGood.keys()) if (!this.sent.has(name)) yield name;
  }

  wasRefused(name: string, hash: string): boolean {
    return this.#refused.get(name) === hash;
  }

  /** Names of which some version was refused. */
  refusedNames(): Iterable<string> {
    return this.#refused.keys();
  }

  /** A refusal counts only for as long as the refused version is the wanted one. */
  keepRefusals(wantedHash: (name: string) => string | undefined): void {
    for (const [name, hash] of this.#refused) if (wantedHash(name) !== hash) this.#refused.delete(name);
  }

  /** Since when an answer on this name is awaited; undefined when none is. */
  awaitedSinceMs(name: string): number | undefined {
    return this.#inFlight.find((response) => response.changes.has(name))?.sentAtMs;
  }

  recordSent(
    response: { nonce: string; version: string; changes: Changes; next: ReadonlyMap<string, Resource> },
    nowMs: number,
  ): void {
    for (const name of response.changes.keys())
      if (!this.#lastGood.has(name)) this.#lastGood.set(name, this.sent.get(name));
    this.sent = response.next;
    this.#inFlight.push({ nonce: response.nonce, changes: response.changes, sentAtMs: nowMs });
    if (this.#inFlight.length > maxInFlight) this.#inFlight.shift();
    this.nonce = response.nonce;
    this.version = response.version;
    this.sentAtMs = nowMs;
    this.answered = true;
    this.mustAnswer = false;
    this.mustSend.clear();
  }

  accept(nonce: string, nowMs: number): Settled {
    const found = this.#take(nonce);
    if (!found) return nonce === this.nonce ? "accepted" : "never-sent";
    this.#settle(found.changes);
    if (nonce !== this.nonce) return "superseded";
    this.ackedNonce = nonce;
    this.ackedAtMs = nowMs;
    this.lastError = "";
    return "accepted";
  }

  /** Envoy names the resources it refuses and takes the others; where it names none, all of them are in doubt. */
  reject(nonce: string, message: string, nowMs: number): Settled {
    const found = this.#take(nonce);
    if (!found && nonce !== this.nonce) return "never-sent";
    this.lastError = message;
    this.nackedAtMs = nowMs;
    const changes: Changes = found?.changes ?? new Map();
    const named = [...changes.keys()].filter((name) => mentions(message, name));
    for (const name of named) {
      const hash = changes.get(name)?.hash;
      if (hash !== undefined) this.#refused.set(name, hash);
    }
    const refused = new Set(named);
    if (refused.size > 0) this.#settle(new Map([...changes].filter(([name]) => !refused.has(name))));
    return nonce === this.nonce ? "rejected" : "superseded";
  }

  /** What the client held before this stream, by its own word: taken as accepted. */
  resume(held: ReadonlyMap<string, Resource>): void {
    this.sent = held;
    this.resumed = true;
  }

  forget(names: Iterable<string>): void {
    const own = new Map(this.sent);
    for (const name of names) {
      own.delete(name);
      this.absent.delete(name);
      this.mustSend.delete(name);
      this.#lastGood.delete(name);
      this.#refused.delete(name);
    }
    this.sent = own;
  }

  #take(nonce: string): InFlight | undefined {
    const at = this.#inFlight.findIndex((response) => response.nonce === nonce);
    return at < 0 ? undefined : this.#inFlight.splice(at, 1)[0];
  }

  /** A name sent again since then stays open, with the state accepted now as the one to fall back to. */
  #settle(changes: Changes): void {
    for (const [name, resource] of changes) {
      if (resource && this.wasRefused(name, resource.hash)) this.#refused.delete(name);
      if (!this.#lastGood.has(name)) continue;
      if (this.sent.get(name)?.hash === resource?.hash) this.#lastGood.delete(name);
      else this.#lastGood.set(name, resource);
    }
  }
}

const nameCharacter = /[A-Za-z0-9._|\-/]/;

/** The name as a word of its own: `outbound|80||a.com` is not meant where `outbound|80||a.com.au` is said. */
function mentions(message: string, name: string): boolean {
  if (name === "") return false;
  for (let at = message.indexOf(name); at >= 0; at = message.indexOf(name, at + 1)) {
    const [before, after] = [message[at - 1] ?? "", message.slice(at + name.length, at + name.length + 2)];
    const sentenceEnd = /^\.?$|^\.[^A-Za-z0-9]/.test(after);
    if (!nameCharacter.test(before) && (sentenceEnd || !nameCharacter.test(after[0] ?? ""))) return true;
  }
  return false;
}
