/**
 * Responses that a client takes or refuses in; what it refuses of them, and what is to be sent again in parts to find that
 * out, out. Made for a client when it refuses something: nearly all take everything.
 */
import { type Resource, type ResourceType, types } from "../../model/index.ts";
import { HalfMade, type Refused, type Said } from "./half-made.ts";
import { mentioned } from "./mentions.ts";
import type { InFlight, Unanswered } from "./unanswered.ts";

/** What a client says where it refuses a response, and of what where that is known. */
export interface Complaint {
  readonly message: string;
  readonly refused?: ReadonlySet<string> | undefined;
}

/** What the client was sent of the type, and what it is to be sent although unchanged. */
export interface Sent {
  readonly type: ResourceType;
  /** The client had state of this type before this stream. */
  readonly resumed: boolean;
  readonly mustSend: Set<string>;
  mustAnswer: boolean;
  sent(name: string): Resource | undefined;
  accepted(name: string): Resource | undefined;
  sentNames(): Iterable<string>;
}

/** Told of what a whole set had that was refused, where another is on its way that offers it again. */
export type OnOfferedAgain = (type: ResourceType, resources: readonly Resource[]) => void;

export class Refusals {
  /** Of the newest response, where it was refused. */
  lastError = "";
  /** Of the newest refusal that named nothing: all that it may be about. */
  doubted: readonly string[] = [];
  /** The version that the client refused, and what it said. */
  readonly #refused = new Map<string, Refused>();
  /** Made when a cluster is refused by name. */
  #halfMade: HalfMade | undefined;
  /** Whole sets that were on their way when something was refused that they may have, too. */
  #tainted: ReadonlySet<string> = none;
  /** What a refusal may be about, to be sent in parts: which of them the client takes tells the others apart. */
  #suspects: (readonly string[])[] = [];

  readonly #of: Sent;
  readonly #unanswered: Unanswered;
  readonly #onOfferedAgain: OnOfferedAgain;

  constructor(of: Sent, unanswered: Unanswered, onOfferedAgain: OnOfferedAgain) {
    this.#of = of;
    this.#unanswered = unanswered;
    this.#onOfferedAgain = onOfferedAgain;
  }

  /** How many names there are of which some version was refused. */
  get size(): number {
    return this.#refused.size;
  }

  names(): Iterable<string> {
    return this.#refused.keys();
  }

  /** By name, what the client said of it. */
  *entries(): Generator<readonly [name: string, words: string]> {
    for (const [name, { words }] of this.#refused) yield [name, words];
  }

  was(name: string, hash: string): boolean {
    return this.#refused.get(name)?.hash === hash;
  }

  /** What the client said of it; empty where it refused nothing of this name. */
  wordsOf(name: string): string {
    return this.#refused.get(name)?.words ?? "";
  }

  /** A refusal counts only for as long as the refused version is the wanted one. */
  keep(wantedHash: (name: string) => string | undefined): void {
    for (const [name, { hash }] of this.#refused) if (wantedHash(name) !== hash) this.#refused.delete(name);
  }

  /** They are offered once more. */
  retry(names: readonly string[]): void {
    for (const name of names) this.#refused.delete(name);
  }

  forget(name: string): void {
    this.#refused.delete(name);
    this.#halfMade?.forget(name);
  }

  /** Whether there is something to find out. */
  get hasSuspects(): boolean {
    return this.#suspects.length > 0;
  }

  /** The next of them that are still in doubt, to be sent apart from the others. */
  takeSuspects(): readonly string[] {
    for (;;) {
      const names = this.#suspects.shift();
      if (!names) return [];
      const doubted = names.filter((name) => this.#refused.has(name) || this.#isDoubted(name));
      if (doubted.length > 0 || names.length === 0) return doubted;
    }
  }

  /** The newest response was taken. */
  end(): void {
    this.lastError = "";
    this.doubted = [];
  }

  /** The client has this response but for what it refuses, and what it passes over: that counts as refused once more. */
  take(response: InFlight, refused: ReadonlySet<string> = none): void {
    const passedOver = this.#halfMade?.passedOver((name) =>
      refused.has(name) ? undefined : this.#said(response, name),
    );
    for (const [name, version] of passedOver ?? nothing) this.#refused.set(name, version);
    this.#unanswered.settle(response, passedOver ? refused.union(passedOver) : refused);
    for (const [name, { hash }] of this.#refused)
      if (this.#said(response, name) && this.#of.accepted(name)?.hash === hash) this.#refused.delete(name);
  }

  /**
   * Envoy names the clusters and listeners that it cannot use, and takes the others. What it says else may name something
   * or nothing, and it may have taken any of the others or none: what they are is found by sending them again in parts.
   */
  refuse(response: InFlight, { message, refused }: Complaint): void {
    const of = this.#of;
    const names = new Set(response.changes.keys());
    const named = refused ?? mentioned(message, response.whole ? names.union(new Set(of.sentNames())) : names);
    this.doubted = named.size > 0 ? [] : [...names];
    if (named.size > 0 && (refused || takesOthers.test(message))) {
      this.take(response, named);
      this.#note(response, [...named], message);
      if (of.type === types.cluster) this.#noteHalfMade(response, named);
      if (response.whole) this.#tainted = new Set(this.#unanswered.nonces());
      return;
    }
    const has = new Set([...names].filter((name) => of.accepted(name)?.hash === response.changes.get(name)?.hash));
    this.#unanswered.refuse(response, names);
    // What it has already is not what it refuses.
    const [sent, removed] = partition(names.difference(has), (name) => response.changes.get(name) !== undefined);
    // A whole set leaves out, too, what an earlier one was to take away.
    const gone = response.whole ? [...new Set([...removed, ...this.#stillThere()])] : removed;
    // What was sent again beside it was not taken either; who refuses that alone is not asked again.
    if (!response.whole && has.size < names.size) for (const name of has) if (of.sent(name)) of.mustSend.add(name);
    // Where another version is half-made, what the client has is made anew, and needs its endpoints after it.
    if (response.whole) for (const name of has) if (this.#halfMade?.has(name)) of.mustSend.add(name);
    const [guilty, others] = partition(sent, (name) => named.has(name));
    // A whole set that was on its way may have been refused for what was found since.
    const isTainted = this.#tainted.has(response.nonce);
    const isFound = !isTainted && (sent.length <= 1 || others.length === 0);
    // In a whole set all are offered but those that were refused.
    if (isFound || response.whole) this.#note(response, sent, message);
    const half = sent.length >> 1;
    const parts = guilty.length > 0 ? [others, guilty] : [sent.slice(0, half), sent.slice(half)];
    const retried = isFound ? [] : parts.filter(({ length }) => length > 0);
    // What was to go has not gone; who refuses that alone is not asked again.
    const isAlone = sent.length === 0 && !isTainted;
    if (response.whole) this.#tainted = new Set(this.#unanswered.nonces());
    if (response.whole && this.#unanswered.isOpen)
      this.#onOfferedAgain(
        of.type,
        sent.flatMap((name) => response.changes.get(name) ?? []),
      );
    // What a client has of an earlier stream, and a whole set leaves out, is to go, too.
    const first = isAlone || (gone.length === 0 && !(response.whole && of.resumed)) ? [] : [gone];
    this.#suspects.push(...first, ...retried);
  }

  /** What the client was told to drop, and has not. */
  *#stillThere(): Generator<string> {
    for (const name of this.#unanswered.names()) if (!this.#of.sent(name) && this.#of.accepted(name)) yield name;
  }

  #noteHalfMade(response: InFlight, names: ReadonlySet<string>): void {
    this.#halfMade ??= new HalfMade();
    for (const name of names) {
      const refused = this.#refused.get(name);
      if (!refused || this.#said(response, name)?.resource?.hash !== refused.hash) continue;
      this.#halfMade.note(name, refused);
      // Once another cluster comes Envoy answers nothing while this one is there, and that may be on its way.
      if (this.#unanswered.isOpen && this.#of.sent(name)?.hash === refused.hash) this.#of.mustAnswer = true;
    }
  }

  /** Of what a whole set does not change it has what the next change found. */
  #said({ whole, changes }: InFlight, name: string): Said {
    if (changes.has(name)) return { resource: changes.get(name) };
    if (!whole) return undefined;
    const next = this.#unanswered.first(name);
    return { resource: next ? next.before.get(name) : this.#of.sent(name) };
  }

  #isDoubted(name: string): boolean {
    return this.#of.accepted(name)?.hash !== this.#of.sent(name)?.hash;
  }

  #note(response: InFlight, names: readonly string[], words: string): void {
    const wordsOf = wordsByName(words, names);
    for (const name of names) {
      const hash = this.#said(response, name)?.resource?.hash;
      if (hash !== undefined) this.#refused.set(name, { hash, words: wordsOf(name) });
    }
  }
}

/** How Envoy begins where it has gone through all clusters, or listeners, of a response. */
const takesOthers = /^Error adding\/updating (cluster|listener)\(s\)/;

/**
 * Envoy says what is wrong with each: listeners have a line of their own, clusters are told from each other by a comma. There
 * may be thousands of names, and few of them in it: only these are looked for.
 */
function wordsByName(words: string, names: readonly string[]): (name: string) => string {
  if (!takesOthers.test(words)) return () => words;
  const said = new Map(names.map((name) => [name, words.indexOf(`${name}: `)] as const).filter(([, at]) => at >= 0));
  const begins = [...said.keys()].flatMap((name) => placesOf(`, ${name}: `, words));
  return (name) => {
    const at = said.get(name);
    const [start, end] = at === undefined ? [0, words.length] : lineAt(words, at);
    const own = at === undefined ? -1 : words.indexOf(`, ${name}: `, start);
    const from = own < 0 || own >= end ? start : own + 2;
    return words.slice(from, Math.min(end, ...begins.filter((begin) => begin >= from)));
  };
}

function lineAt(words: string, at: number): readonly [start: number, end: number] {
  const end = words.indexOf("\n", at);
  return [words.lastIndexOf("\n", at) + 1, end < 0 ? words.length : end];
}

function placesOf(part: string, words: string): readonly number[] {
  const places: number[] = [];
  for (let at = words.indexOf(part); at >= 0; at = words.indexOf(part, at + 1)) places.push(at);
  return places;
}

function partition(names: Iterable<string>, isFirst: (name: string) => boolean): [string[], string[]] {
  const all: [string[], string[]] = [[], []];
  for (const name of names) all[isFirst(name) ? 0 : 1].push(name);
  return all;
}

const none: ReadonlySet<string> = new Set();
const nothing: readonly (readonly [string, never])[] = [];
