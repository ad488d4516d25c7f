/**
 * What one stream knows of one type: who asked for what, what was sent, what of it the client has accepted; what it refuses is
 * kept apart (`refusals.ts`). No I/O and no clock: requests and responses are told to it, it answers questions.
 */
import { emptyResourceSet, type Resource, type ResourceSet, type ResourceType } from "../../model/index.ts";
import type { ProxySession } from "../source.ts";
import { type NamePool, Names } from "./names.ts";
import { type Complaint, type OnOfferedAgain, Refusals, type Sent } from "./refusals.ts";
import { type InFlight, Unanswered } from "./unanswered.ts";

export type Settled = "accepted" | "rejected" | "superseded" | "never-sent";

export interface TypeStateOptions {
  readonly pool: NamePool;
  readonly session: Pick<ProxySession, "forget">;
  /** Told of each response that the client takes. */
  readonly onAccepted: (type: ResourceType, response: InFlight, nowMs: number) => void;
  readonly onOfferedAgain: OnOfferedAgain;
}

export class TypeState implements Sent {
  readonly type: ResourceType;
  wildcard = false;
  readonly names: Names;
  /**
   * The source's set that the client was last brought to. A stream in step holds this reference and nothing else, so
   * that a thousand of them cost one set.
   */
  base: ResourceSet = emptyResourceSet;
  /** These three are empty for nearly every stream, and are made when something is put into them. */
  #own: Map<string, Resource | undefined> | undefined;
  #extras: Map<string, Resource> | undefined;
  #mustSend: Set<string> | undefined;
  /** The first request of a type is answered even with nothing, or the client would wait. */
  mustAnswer = false;
  /** The client had state of this type before this stream. */
  resumed = false;
  /** Whether a response of this type has been sent on this stream. */
  answered = false;
  nonce = "";
  version = "";
  ackedNonce = "";
  sentAtMs = 0;
  ackedAtMs = 0;
  nackedAtMs = 0;
  /** Names that may differ from `base` since it was taken; undefined when track was lost, and all may. */
  #news: ReadonlySet<string> | undefined;
  readonly #unanswered = new Unanswered();
  /** Made when the client refuses something. */
  #refusals: Refusals | undefined;

  readonly #options: TypeStateOptions;

  constructor(type: ResourceType, options: TypeStateOptions) {
    this.type = type;
    this.#options = options;
    this.names = new Names(options.pool);
  }

  /** Where the client was sent something else than `base` has: held back, refused, not told yet, of an earlier stream. */
  get own(): Map<string, Resource | undefined> {
    this.#own ??= new Map();
    return this.#own;
  }

  /** What was found by name alone, of types that have no set of all. */
  get extras(): Map<string, Resource> {
    this.#extras ??= new Map();
    return this.#extras;
  }

  /** Names to send although unchanged: asked for again, or needed again by a cluster that warms. */
  get mustSend(): Set<string> {
    this.#mustSend ??= new Set();
    return this.#mustSend;
  }

  isSubscribed(name: string): boolean {
    return this.wildcard || this.names.has(name);
  }

  /** What the client was last sent; `named` where somebody knows whether it was asked for by its name. */
  sent(name: string, named?: boolean): Resource | undefined {
    if (this.#own?.has(name)) return this.#own.get(name);
    const isSubscribed = named === undefined ? this.isSubscribed(name) : this.wildcard || named;
    return isSubscribed ? this.#usual(name) : undefined;
  }

  /** What the client surely has, as far as its answers tell. */
  accepted(name: string): Resource | undefined {
    const open = this.#unanswered.before(name);
    return open ? open.resource : this.sent(name);
  }

  /** The same, but for what is on its way to be removed: it may come back, but not at once. */
  surelyHas(name: string): Resource | undefined {
    return this.#unanswered.removes(name) ? undefined : this.accepted(name);
  }

  /** What the client has, and what is on its way to it: its answers will tell what it took of that. */
  *mayHave(name: string): Generator<Resource> {
    const has = this.accepted(name);
    if (has) yield has;
    yield* this.#unanswered.sent(name);
  }

  /** How many resources the client was sent and has not been told to drop. */
  count(): number {
    let count = this.wildcard ? this.base.size : 0;
    if (!this.wildcard) for (const name of this.names) if (this.#usual(name)) count++;
    for (const [name, resource] of this.#own ?? nothing) {
      const inBase = this.isSubscribed(name) && this.#usual(name) !== undefined;
      count += (resource ? 1 : 0) - (inBase ? 1 : 0);
    }
    return count;
  }

  /** Every name of which the client was sent something. */
  *sentNames(): Generator<string> {
    const names = this.wildcard ? this.base.names() : this.names;
    for (const name of names) if (this.sent(name)) yield name;
    for (const [name, resource] of this.#own ?? nothing)
      if (resource && !(this.wildcard ? this.base.get(name) : this.names.has(name))) yield name;
  }

  /** More names may now differ; without any, all may. The set is kept as it is, as all streams of a class get the same. */
  noteNews(names?: ReadonlySet<string>): void {
    if (!names) this.#news = undefined;
    else if (this.#news) this.#news = this.#news.size === 0 ? names : this.#news.union(names);
    // A reader that is stuck must not collect the names of all that comes and goes meanwhile.
    if (this.#news && this.#news !== names && this.#news.size > Math.max(maxNews, this.base.size))
      this.#news = undefined;
  }

  /** Names that may differ from what was sent; undefined when any may. */
  get news(): ReadonlySet<string> | undefined {
    return this.#news;
  }

  /** Nothing is waiting, refused, asked for again or found by name: only what the source has changed is to be sent. */
  get isInStep(): boolean {
    return !this.#own?.size && !this.#mustSend?.size && !this.#refusals?.size && !this.#extras?.size;
  }

  /** The client is at this set now, but for `own`. */
  reach(base: ResourceSet): void {
    this.base = base;
    this.#news = none;
  }

  /** Names that the client may hold in another version than the wanted one. */
  *unsettled(): Generator<string> {
    if (this.#own) yield* this.#own.keys();
    yield* this.#unanswered.names();
    yield* this.#news ?? this.sentNames();
  }

  /** Whether there is any: asked of every stream whenever it is looked how far all are. */
  get isUnsettled(): boolean {
    if ((this.#own?.size ?? 0) > 0 || this.#unanswered.hasNames) return true;
    return this.#news ? this.#news.size > 0 : !this.sentNames().next().done;
  }

  /** What the client refuses; undefined until it has refused something. */
  get refusals(): Refusals | undefined {
    return this.#refusals;
  }

  /** Whether the client refuses something that it was sent last. */
  get refuses(): boolean {
    return this.#refusals !== undefined && (this.#refusals.lastError !== "" || this.#refusals.size > 0);
  }

  /** Since when an answer on this name is awaited; undefined when none is. */
  awaitedSinceMs(name: string): number | undefined {
    return this.#unanswered.sinceMs(name);
  }

  recordSent(response: Omit<InFlight, "sentAtMs"> & { readonly version: string }, nowMs: number): void {
    const { nonce, version, changes, before, whole } = response;
    this.#unanswered.add({ nonce, changes, before, whole, sentAtMs: nowMs });
    this.nonce = nonce;
    this.version = version;
    this.sentAtMs = nowMs;
    this.answered = true;
    this.mustAnswer = false;
  }

  /** These were sent, or are gone; without names, all that had to be. */
  sentAgain(names?: Iterable<string>): void {
    if (!this.#mustSend?.size) return;
    if (!names) this.#mustSend.clear();
    else for (const name of names) this.#mustSend.delete(name);
  }

  accept(nonce: string, nowMs: number): Settled {
    const found = this.#unanswered.answered(nonce);
    if (!found) return nonce === this.nonce ? "accepted" : this.#unknown(nonce);
    if (this.#refusals) this.#refusals.take(found);
    else this.#unanswered.settle(found);
    this.#options.onAccepted(this.type, found, nowMs);
    if (nonce !== this.nonce) return "superseded";
    // Not the client's own copy of it.
    this.ackedNonce = this.nonce;
    this.ackedAtMs = nowMs;
    this.#refusals?.end();
    return "accepted";
  }

  reject(nonce: string, complaint: Complaint, nowMs: number): Settled {
    const found = this.#unanswered.answered(nonce);
    if (!found && nonce !== this.nonce) return this.#unknown(nonce);
    this.#refusals ??= new Refusals(this, this.#unanswered, this.#options.onOfferedAgain);
    this.#refusals.lastError = complaint.message;
    this.nackedAtMs = nowMs;
    if (found) this.#refusals.refuse(found, complaint);
    return nonce === this.nonce ? "rejected" : "superseded";
  }

  /** Whether no answer is awaited, and nothing is to be found out. */
  get isSettled(): boolean {
    return !this.#refusals?.hasSuspects && !this.#unanswered.isOpen;
  }

  /** Whether there is something to find out, and no answer is awaited that might tell. */
  get hasSuspects(): boolean {
    return this.#refusals?.hasSuspects === true && !this.#unanswered.isOpen;
  }

  /** Whether something is to be sent although the source has not changed. */
  get isOwing(): boolean {
    return this.mustAnswer || (this.#mustSend !== undefined && this.#mustSend.size > 0) || this.hasSuspects;
  }

  /** The client has dropped it, and asks for it all the same. */
  sendBack(name: string): void {
    this.mustSend.add(name);
    if (this.sent(name)) this.#unanswered.doubt(name);
  }

  /** They are offered once more, in a whole set. */
  retry(names: readonly string[]): void {
    this.mustAnswer = true;
    this.#refusals?.retry(names);
    for (const name of names) this.mustSend.add(name);
  }

  /** What the client held before this stream, by its own word: taken as accepted. The map is given away. */
  resume(base: ResourceSet, differing: Map<string, Resource | undefined>): void {
    this.reach(base);
    this.#own = differing;
    this.resumed = true;
  }

  /** Asked for by name from now on: it is sent, or said to be missing, whatever the client was sent before. */
  follow(name: string): void {
    if (this.sent(name)) this.mustSend.add(name);
    else this.own.set(name, undefined);
    this.names.add(name);
  }

  followAll(): void {
    if (this.wildcard) return;
    const sent = [...this.sentNames()].map((name) => [name, this.sent(name)] as const);
    for (const [name, resource] of sent) this.own.set(name, resource);
    this.wildcard = true;
    this.base = emptyResourceSet;
    this.noteNews();
    // From now on nothing is asked for by its name.
    this.#options.session.forget(this.type);
  }

  /** Not all any more: what was not named is given up. */
  followNamed(): void {
    const givenUp = [...this.sentNames()].filter((name) => !this.names.has(name));
    this.wildcard = false;
    for (const name of givenUp) this.forget(name);
  }

  forget(name: string): void {
    this.#own?.delete(name);
    this.#extras?.delete(name);
    this.#mustSend?.delete(name);
    this.#unanswered.forget(name);
    this.#refusals?.forget(name);
    this.#options.session.forget(this.type, name);
  }

  /** The client follows nothing of the type any more, or starts over. */
  end(): void {
    this.#options.session.forget(this.type);
  }

  #unknown(nonce: string): Settled {
    return this.#unanswered.isExpired(nonce) ? "superseded" : "never-sent";
  }

  #usual(name: string): Resource | undefined {
    return this.base.get(name) ?? this.#extras?.get(name);
  }
}

const none: ReadonlySet<string> = new Set();
const nothing: readonly (readonly [string, never])[] = [];

const maxNews = 1024;
