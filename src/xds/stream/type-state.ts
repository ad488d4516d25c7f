/**
 * What one stream knows of one type: who asked for what, what was sent, what of it the client has accepted.
 * No I/O and no clock: requests and responses are told to it, it answers questions.
 */
import { emptyResourceSet, type Resource, type ResourceSet, type ResourceType, types } from "../../model/index.ts";
import type { ProxySession } from "../source.ts";
import { HalfMade, type Refused, type Said } from "./half-made.ts";
import { mentioned } from "./mentions.ts";
import { type NamePool, Names } from "./names.ts";
import { type InFlight, Unanswered } from "./unanswered.ts";

export type Settled = "accepted" | "rejected" | "superseded" | "never-sent";

export interface TypeStateOptions {
  readonly pool: NamePool;
  readonly session: Pick<ProxySession, "forget">;
  /** Told of each response that the client takes. */
  readonly onAccepted: (type: ResourceType, response: InFlight, nowMs: number) => void;
  /** Told of what a whole set had that was refused, where another is on its way that offers it again. */
  readonly onOfferedAgain: (type: ResourceType, resources: readonly Resource[]) => void;
}

export class TypeState {
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
  lastError = "";
  /** Of the newest refusal that named nothing: all that it may be about. */
  doubted: readonly string[] = [];
  sentAtMs = 0;
  ackedAtMs = 0;
  nackedAtMs = 0;
  /** Names that may differ from `base` since it was taken; undefined when track was lost, and all may. */
  #news: ReadonlySet<string> | undefined;
  readonly #unanswered = new Unanswered();
  /** The version that the client refused, and what it said. */
  #refused: Map<string, Refused> | undefined;
  /** Made when a cluster is refused by name. */
  #halfMade: HalfMade | undefined;
  /** Whole sets that were on their way when something was refused that they may have, too. */
  #tainted: ReadonlySet<string> | undefined;
  /** What a refusal may be about, to be sent in parts: which of them the client takes tells the others apart. */
  #suspects: (readonly string[])[] | undefined;

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
    return !this.#own?.size && !this.#mustSend?.size && !this.#refused?.size && !this.#extras?.size;
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

  wasRefused(name: string, hash: string): boolean {
    return this.#refused?.get(name)?.hash === hash;
  }

  /** What the client said of it; empty where it refused nothing of this name. */
  refusedWords(name: string): string {
    return this.#refused?.get(name)?.words ?? "";
  }

  /** Whether the client refuses something that it was sent last. */
  get refuses(): boolean {
    return this.lastError !== "" || (this.#refused?.size ?? 0) > 0;
  }

  /** Names of which some version was refused. */
  refusedNames(): Iterable<string> {
    return this.#refused?.keys() ?? [];
  }

  /** A refusal counts only for as long as the refused version is the wanted one. */
  keepRefusals(wantedHash: (name: string) => string | undefined): void {
    for (const [name, { hash }] of this.#refused ?? nothing) if (wantedHash(name) !== hash) this.#refused?.delete(name);
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
    this.#take(found, none);
    this.#options.onAccepted(this.type, found, nowMs);
    if (nonce !== this.nonce) return "superseded";
    // Not the client's own copy of it.
    this.ackedNonce = this.nonce;
    this.ackedAtMs = nowMs;
    this.lastError = "";
    this.doubted = [];
    return "accepted";
  }

  /**
   * Envoy names the clusters and listeners that it cannot use, and takes the others. What it says else may name something
   * or nothing, and it may have taken any of the others or none: what they are is found by sending them again in parts.
   */
  reject(nonce: string, { message, refused }: Complaint, nowMs: number): Settled {
    const found = this.#unanswered.answered(nonce);
    if (!found && nonce !== this.nonce) return this.#unknown(nonce);
    this.lastError = message;
    this.nackedAtMs = nowMs;
    if (found) this.#refuse(found, message, refused);
    return nonce === this.nonce ? "rejected" : "superseded";
  }

  /** Whether no answer is awaited, and nothing is to be found out. */
  get isSettled(): boolean {
    return this.#suspects === undefined && !this.#unanswered.isOpen;
  }

  /** Whether there is something to find out, and no answer is awaited that might tell. */
  get hasSuspects(): boolean {
    return this.#suspects !== undefined && !this.#unanswered.isOpen;
  }

  /** Whether something is to be sent although the source has not changed. */
  get isOwing(): boolean {
    return this.mustAnswer || (this.#mustSend !== undefined && this.#mustSend.size > 0) || this.hasSuspects;
  }

  /** The next of them that are still in doubt, to be sent apart from the others. */
  takeSuspects(): readonly string[] {
    for (;;) {
      const names = this.#suspects?.shift();
      if (this.#suspects?.length === 0) this.#suspects = undefined;
      if (!names) return [];
      const doubted = names.filter((name) => this.#refused?.has(name) || this.#isDoubted(name));
      if (doubted.length > 0 || names.length === 0) return doubted;
    }
  }

  /** The client has dropped it, and asks for it all the same. */
  sendBack(name: string): void {
    this.mustSend.add(name);
    if (this.sent(name)) this.#unanswered.doubt(name);
  }

  /** They are offered once more, in a whole set. */
  retry(names: readonly string[]): void {
    this.mustAnswer = true;
    for (const name of names) {
      this.#refused?.delete(name);
      this.mustSend.add(name);
    }
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
    this.#refused?.delete(name);
    this.#halfMade?.forget(name);
    this.#options.session.forget(this.type, name);
  }

  /** The client follows nothing of the type any more, or starts over. */
  end(): void {
    this.#options.session.forget(this.type);
  }

  #unknown(nonce: string): Settled {
    return this.#unanswered.isExpired(nonce) ? "superseded" : "never-sent";
  }

  #refuse(response: InFlight, message: string, refused: ReadonlySet<string> | undefined): void {
    const names = new Set(response.changes.keys());
    const named = refused ?? mentioned(message, response.whole ? names.union(new Set(this.sentNames())) : names);
    this.doubted = named.size > 0 ? [] : [...names];
    if (named.size > 0 && (refused || takesOthers.test(message))) {
      this.#take(response, named);
      this.#noteRefused(response, [...named], message);
      if (this.type === types.cluster) this.#noteHalfMade(response, named);
      if (response.whole) this.#tainted = new Set(this.#unanswered.nonces());
      return;
    }
    const has = new Set([...names].filter((name) => this.accepted(name)?.hash === response.changes.get(name)?.hash));
    this.#unanswered.refuse(response, names);
    // What it has already is not what it refuses.
    const [sent, removed] = partition(names.difference(has), (name) => response.changes.get(name) !== undefined);
    // A whole set leaves out, too, what an earlier one was to take away.
    const gone = response.whole ? [...new Set([...removed, ...this.#stillThere()])] : removed;
    // What was sent again beside it was not taken either; who refuses that alone is not asked again.
    if (!response.whole && has.size < names.size) for (const name of has) if (this.sent(name)) this.mustSend.add(name);
    // Where another version is half-made, what the client has is made anew, and needs its endpoints after it.
    if (response.whole) for (const name of has) if (this.#halfMade?.has(name)) this.mustSend.add(name);
    const [guilty, others] = partition(sent, (name) => named.has(name));
    // A whole set that was on its way may have been refused for what was found since.
    const isTainted = this.#tainted?.has(response.nonce) === true;
    const isFound = !isTainted && (sent.length <= 1 || others.length === 0);
    // In a whole set all are offered but those that were refused.
    if (isFound || response.whole) this.#noteRefused(response, sent, message);
    const half = sent.length >> 1;
    const parts = guilty.length > 0 ? [others, guilty] : [sent.slice(0, half), sent.slice(half)];
    const retried = isFound ? [] : parts.filter(({ length }) => length > 0);
    // What was to go has not gone; who refuses that alone is not asked again.
    const isAlone = sent.length === 0 && !isTainted;
    if (response.whole) this.#tainted = new Set(this.#unanswered.nonces());
    if (response.whole && this.#unanswered.isOpen)
      this.#options.onOfferedAgain(
        this.type,
        sent.flatMap((name) => response.changes.get(name) ?? []),
      );
    // What a client has of an earlier stream, and a whole set leaves out, is to go, too.
    const first = isAlone || (gone.length === 0 && !(response.whole && this.resumed)) ? [] : [gone];
    const again = [...first, ...retried];
    if (again.length > 0) this.#suspects = [...(this.#suspects ?? []), ...again];
  }

  /** What the client was told to drop, and has not. */
  *#stillThere(): Generator<string> {
    for (const name of this.#unanswered.names()) if (!this.sent(name) && this.accepted(name)) yield name;
  }

  /** The client has this response but for what it refuses, and what it passes over: that counts as refused once more. */
  #take(response: InFlight, refused: ReadonlySet<string>): void {
    const passedOver = this.#halfMade?.passedOver((name) =>
      refused.has(name) ? undefined : this.#said(response, name),
    );
    for (const [name, version] of passedOver ?? nothing) this.#refused?.set(name, version);
    this.#unanswered.settle(response, passedOver ? refused.union(passedOver) : refused);
    for (const [name, { hash }] of this.#refused ?? nothing)
      if (this.#said(response, name) && this.accepted(name)?.hash === hash) this.#refused?.delete(name);
  }

  #noteHalfMade(response: InFlight, names: ReadonlySet<string>): void {
    this.#halfMade ??= new HalfMade();
    for (const name of names) {
      const refused = this.#refused?.get(name);
      if (!refused || this.#said(response, name)?.resource?.hash !== refused.hash) continue;
      this.#halfMade.note(name, refused);
      // Once another cluster comes Envoy answers nothing while this one is there, and that may be on its way.
      if (this.#unanswered.isOpen && this.sent(name)?.hash === refused.hash) this.mustAnswer = true;
    }
  }

  /** Of what a whole set does not change it has what the next change found. */
  #said({ whole, changes }: InFlight, name: string): Said {
    if (changes.has(name)) return { resource: changes.get(name) };
    if (!whole) return undefined;
    const next = this.#unanswered.first(name);
    return { resource: next ? next.before.get(name) : this.sent(name) };
  }

  #isDoubted(name: string): boolean {
    return this.accepted(name)?.hash !== this.sent(name)?.hash;
  }

  #noteRefused(response: InFlight, names: readonly string[], words: string): void {
    for (const name of names) {
      const hash = this.#said(response, name)?.resource?.hash;
      if (hash === undefined) continue;
      this.#refused ??= new Map();
      this.#refused.set(name, { hash, words: wordsOn(name, words, names) });
    }
  }

  #usual(name: string): Resource | undefined {
    return this.base.get(name) ?? this.#extras?.get(name);
  }
}

/** What a client says where it refuses a response, and of what where that is known. */
export interface Complaint {
  readonly message: string;
  readonly refused?: ReadonlySet<string> | undefined;
}

/** How Envoy begins where it has gone through all clusters, or listeners, of a response. */
const takesOthers = /^Error adding\/updating (cluster|listener)\(s\)/;

/** Envoy says what is wrong with each: listeners have a line of their own, clusters are told from each other by a comma. */
function wordsOn(name: string, words: string, names: readonly string[]): string {
  if (!takesOthers.test(words)) return words;
  const line = words.split("\n").find((one) => one.includes(`${name}: `)) ?? words;
  const start = line.indexOf(`, ${name}: `);
  const from = start < 0 ? 0 : start + 2;
  const ends = names.map((other) => line.indexOf(`, ${other}: `, from)).filter((at) => at >= 0);
  return line.slice(from, Math.min(...ends, line.length));
}

function partition(names: Iterable<string>, isFirst: (name: string) => boolean): [string[], string[]] {
  const all: [string[], string[]] = [[], []];
  for (const name of names) all[isFirst(name) ? 0 : 1].push(name);
  return all;
}

const none: ReadonlySet<string> = new Set();
const nothing: readonly (readonly [string, never])[] = [];

const maxNews = 1024;
