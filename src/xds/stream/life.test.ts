/** For any life of a stream (changes, subscriptions, refusals, moves to other sets, reconnects) the client ends with what is wanted. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  bytesOf,
  createResourceSet,
  type Resource,
  type ResourceSet,
  type ResourceType,
  types,
} from "../../model/index.ts";
import type { News, ProxySession } from "../source.ts";
import { resource } from "../testing.ts";
import { createNamePool } from "./names.ts";
import { createSteps } from "./steps.ts";
import { createStreamState, type Response, type StreamState } from "./stream-state.ts";
import { createVersions } from "./version.ts";

const { cluster: CDS, endpoint: EDS, workload: WDS } = types;
const followed = [CDS, EDS, WDS] as const;
const pool = ["a", "b", "c"];

type Layers = readonly Readonly<Record<string, number>>[];

/** A cluster that is left half-made is refused by name, and stays among those that warm. */
type Refusal = "ack" | "nack" | "nack-named" | "nack-half-made" | "nack-silent";

type Step =
  | { readonly put: Layers; readonly type: (typeof followed)[number]; readonly move: boolean }
  | { readonly subscribe: readonly string[]; readonly type: (typeof followed)[number] }
  /** What is asked for already is asked for once more. */
  | { readonly again: readonly string[]; readonly type: (typeof followed)[number] }
  | { readonly unsubscribe: readonly string[]; readonly type: (typeof followed)[number] }
  | { readonly deliver: Refusal }
  | { readonly answer: true }
  /** Responses are taken and answered for a while, so that the stream comes into step. */
  | { readonly flow: number }
  /** What is asked for first; of what the client says a version that never was, and what it has lost meanwhile. */
  | {
      readonly reconnect: (typeof followed)[number];
      readonly lies: readonly string[];
      readonly lost: readonly string[];
    }
  /** All clusters, or from now on only those that were named. */
  | { readonly star: boolean }
  /** Clusters change, and the stream is lost after the next response, which mostly has them, and before their endpoints. */
  | { readonly lose: Layers };

/** Clusters have names of their own, as endpoints stay for as long as their cluster. */
const prefix = "cluster-";
const named = (type: ResourceType, name: string): string => (type === CDS ? `${prefix}${name}` : name);
/** Each cluster needs the endpoints of its name. */
const needsOf = (name: string): string[] => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []);

const setOf = (layers: Layers): ResourceSet =>
  createResourceSet(
    layers.map(
      (layer) =>
        new Map(
          Object.entries(layer).map(([name, version]) => [name, resource(name, `${name}${version}`, needsOf(name))]),
        ),
    ),
  );

const renamed = (type: ResourceType, layer: Layers[number]): Layers[number] =>
  Object.fromEntries(Object.entries(layer).map(([name, version]) => [named(type, name), version]));

const unlisted = (type: ResourceType, { c, ...layer }: Layers[number]): Layers[number] =>
  type === CDS || c === undefined ? { ...layer, ...(c === undefined ? {} : { c }) } : layer;

/** A client that holds exactly what it was sent and accepted. */
function createLife(variant: "sotw" | "delta") {
  const sets = new Map<ResourceType, ResourceSet>(followed.map((type) => [type, setOf([])]));
  /** Of workloads there is no set of all, and some endpoints are known by name alone. */
  const listed = new Map<ResourceType, ResourceSet>();
  const steps = createSteps();
  const names = createNamePool();
  let n = 0;
  let nowMs = 0;
  /** What the source was asked for by name, and keeps until it is told to forget it. */
  let kept = new Set<string>();
  const session: ProxySession = {
    ready: undefined,
    all: (type) => listed.get(type) ?? setOf([]),
    get(type, name) {
      kept.add(`${type} ${name}`);
      return sets.get(type)?.get(name);
    },
    forget(type, name) {
      for (const one of name === undefined ? pool.map((short) => named(type, short)) : [name])
        kept.delete(`${type} ${one}`);
    },
    close() {},
  };
  const versions = createVersions({ now: () => new Date(0), uuid: () => `-${++n}` });
  const start = (): StreamState =>
    createStreamState({
      variant,
      session,
      versions,
      steps,
      pool: names,
      times: { maxWaitMs: 5000, drainMs: 0 },
      onHeldBack() {},
    });
  let state = start();
  const asked = new Map<ResourceType, Set<string>>(followed.map((type) => [type, new Set<string>()]));
  const held = new Map<ResourceType, Map<string, Resource>>(followed.map((type) => [type, new Map()]));
  const mineOf = (type: ResourceType): Map<string, Resource> => held.get(type) ?? new Map();
  const nonces = new Map<ResourceType, string>();
  /** Versions that the client refuses, always: it keeps what it had. */
  const refused = new Set<string>();
  /** Those of clusters that fail when they are among those that warm already. */
  const unmakeable = new Set<string>();
  /** Clusters that it has half-made: it passes over the same version without a word, until it has gone or changed. */
  const halfMade = new Map<string, Resource>();
  /** The same of an earlier stream: on this one nothing is ever said of it. */
  const unheard = new Set<string>();
  /** Refused like these, but the client says not which it is, and takes nothing of a response that has one. */
  const poison = new Set<string>();
  /** Names in a response that was refused whole: nobody knows what of it was wrong. */
  const doubtful = new Set<string>();
  /** The versions in it: should one be wanted again, it may be left out. */
  const doubtedVersions = new Set<string>();
  /** What the client waits for although it has it: it has asked again. */
  const awaited = new Set<string>();
  /** Clusters that wait for endpoints since they were taken, even where the client has these; a new stream ends no wait. */
  const warming = new Set<string>();
  /** Its first request on clusters, or the last answer (state of the world), which waits for as long as one of them does. */
  let untold: (() => void) | undefined;
  const keyOf = (type: ResourceType, name: string, one: Resource | undefined): string => `${type} ${name} ${one?.hash}`;
  let outgoing: (() => void)[] = [];
  let starred = true;
  const isAsked = (type: ResourceType, name: string): boolean =>
    (type === CDS && starred) || asked.get(type)?.has(name) === true;

  const request = (
    type: ResourceType,
    change: { subscribe?: readonly string[]; unsubscribe?: readonly string[]; nonce?: string; error?: string },
  ): void => {
    const { subscribe = [], unsubscribe = [], nonce = variant === "sotw" ? (nonces.get(type) ?? "") : "" } = change;
    const error = change.error === undefined ? {} : { error: change.error };
    const all = [...(asked.get(type) ?? [])];
    if (change.error !== undefined) tellClusters(type);
    if (variant === "sotw" && type === CDS && change.nonce !== undefined) {
      untold = () => void state.receiveSotw({ type, names: all, nonce, version: "", ...error }, nowMs);
      // Envoy keeps a refusal to itself, too, and gives it with the last answer; here it is told at once.
      if (change.error === undefined && isWaiting()) return;
      outgoing.push(untold);
      untold = undefined;
      return;
    }
    // What is asked for while that is not told yet is part of it.
    if (type === CDS && untold) return;
    outgoing.push(() => {
      if (variant === "delta")
        state.receiveDelta({ type, subscribe, unsubscribe, initial: new Map(), nonce, ...error }, nowMs);
      else state.receiveSotw({ type, names: all, nonce, version: "", ...error }, nowMs);
    });
  };

  /** Envoy asks for all that it waits for, and there is some; here that is up to chance, and only delta says what is missing. */
  const comes = (name: string): boolean =>
    asked.get(EDS)?.has(name) === true && (variant === "delta" || sets.get(EDS)?.get(name) !== undefined);
  const isWaiting = (): boolean => [...warming].some((cluster) => needsOf(cluster).some(comes));

  /** Where endpoints are refused Envoy waits no longer for any, and uses what it has. */
  function tellClusters(refusal?: ResourceType): void {
    if (refusal === EDS) warming.clear();
    if (!untold || isWaiting()) return;
    outgoing.push(untold);
    untold = undefined;
  }

  function take(response: Response, refusal: Refusal): void {
    const { type, nonce } = response;
    nonces.set(type, nonce);
    const last = response.resources.at(-1);
    const isPassedOver = (one: Resource): boolean => type === CDS && halfMade.get(one.name)?.hash === one.hash;
    const isLookedAt = (one: Resource): boolean => mineOf(type).get(one.name)?.hash !== one.hash && !isPassedOver(one);
    const fresh = response.resources.findLast(isLookedAt);
    const isHalfMade = refusal === "nack-half-made";
    if ((refusal === "nack-named" || isHalfMade) && fresh) refused.add(keyOf(type, fresh.name, fresh));
    if (isHalfMade && fresh && type === CDS) unmakeable.add(keyOf(type, fresh.name, fresh));
    if (refusal === "nack" && last) {
      for (const name of [...mineOf(type).keys(), ...response.resources.map((one) => one.name)])
        doubtful.add(`${type} ${name}`);
      for (const one of response.resources) doubtedVersions.add(keyOf(type, one.name, one));
      request(type, { nonce, error: "no" });
      return;
    }
    if (refusal === "nack-silent" && fresh) poison.add(keyOf(type, fresh.name, fresh));
    if (response.resources.some((one) => poison.has(keyOf(type, one.name, one)))) {
      request(type, { nonce, error: "no" });
      return;
    }
    const bad = response.resources.filter((one) => refused.has(keyOf(type, one.name, one)));
    const told = bad.filter((one) => !isPassedOver(one)).map((one) => one.name);
    const names = new Set(bad.map((one) => one.name));
    settle(
      response,
      response.resources.filter((one) => !names.has(one.name)),
      names,
    );
    for (const one of bad)
      if (unmakeable.has(keyOf(type, one.name, one)) && isAsked(type, one.name)) halfMade.set(one.name, one);
    const error = `Error adding/updating cluster(s) ${told.join(", ")}: no`;
    request(type, { nonce, ...(told.length > 0 ? { error } : {}) });
  }

  function drop(type: ResourceType, name: string): void {
    mineOf(type).delete(name);
    if (type === CDS) warming.delete(name);
    if (type === CDS) halfMade.delete(name);
    // Told that there are none, Envoy waits no longer.
    if (type === EDS) warming.delete(named(CDS, name));
  }

  function settle({ type, removed }: Response, taken: readonly Resource[], kept: ReadonlySet<string>): void {
    const mine = mineOf(type);
    if (variant === "sotw" && type === CDS) {
      for (const name of [...mine.keys(), ...halfMade.keys()])
        if (!kept.has(name) && !taken.some((one) => one.name === name)) drop(type, name);
    }
    for (const name of removed) {
      drop(type, name);
      doubtful.delete(`${type} ${name}`);
      awaited.delete(`${type} ${name}`);
    }
    for (const one of taken) {
      // In state of the world it may have been given up, and asked for again, before the answer says either.
      if (variant === "delta" && !isAsked(type, one.name)) continue;
      // The version that it has is made once more where it has half-made another.
      const isNew = mine.get(one.name)?.hash !== one.hash || halfMade.has(one.name);
      if (type === CDS && isNew) warming.add(one.name);
      if (type === CDS) halfMade.delete(one.name);
      if (type === EDS) warming.delete(named(CDS, one.name));
      mine.set(one.name, one);
      awaited.delete(`${type} ${one.name}`);
      // The version before it, which it had, says nothing of the one in doubt.
      if (sets.get(type)?.get(one.name)?.hash === one.hash) doubtful.delete(`${type} ${one.name}`);
    }
  }

  function lose(type: ResourceType, name: string): void {
    mineOf(type).delete(name);
    if (type === CDS) warming.delete(name);
    if (type === CDS) halfMade.delete(name);
  }

  const isFollowed = (type: ResourceType): boolean => (type === CDS && starred) || (asked.get(type)?.size ?? 0) > 0;

  function namesOf(type: ResourceType): readonly string[] {
    const own = [...(asked.get(type) ?? [])];
    return type === CDS && starred && own.length > 0 ? [...own, "*"] : own;
  }

  /** What is held is told as it is then. */
  function comeBack(type: ResourceType, names: readonly string[], lies: readonly string[]): void {
    const initial = new Map([...mineOf(type)].map(([name, { hash }]) => [name, hash]));
    for (const name of lies) initial.set(named(type, name), "never was");
    if (variant === "delta") state.receiveDelta({ type, subscribe: names, unsubscribe: [], initial, nonce: "" }, nowMs);
    else state.receiveSotw({ type, names, nonce: "", version: "1" }, nowMs);
  }

  const life = {
    step(step: Step): void {
      nowMs++;
      if ("put" in step) life.put(step.type, step.put, step.move);
      else if ("subscribe" in step) life.subscribe(step.type, step.subscribe);
      else if ("again" in step) life.askAgain(step.type, step.again);
      else if ("unsubscribe" in step) life.unsubscribe(step.type, step.unsubscribe);
      else if ("deliver" in step) life.deliver(step.deliver);
      else if ("answer" in step) outgoing.shift()?.();
      else if ("flow" in step) life.flow(step.flow);
      else if ("star" in step) life.star(step.star);
      else if ("reconnect" in step) life.reconnect(step.reconnect, step.lies, step.lost);
      else life.lose(step.lose);
    },
    lose(layers: Layers): void {
      life.put(CDS, layers, false);
      life.deliver("ack");
      life.reconnect(CDS, [], []);
    },
    put(type: ResourceType, layers: Layers, move: boolean): void {
      const [before, now] = [sets.get(type) ?? setOf([]), setOf(layers.map((layer) => renamed(type, layer)))];
      sets.set(type, now);
      if (type !== WDS) listed.set(type, setOf(layers.map((layer) => unlisted(type, renamed(type, layer)))));
      const differing = pool
        .map((name) => named(type, name))
        .filter((name) => before.get(name)?.hash !== now.get(name)?.hash);
      const news: News = new Map([[type, new Set(differing)]]);
      state.changed(move ? undefined : news);
    },
    subscribe(type: ResourceType, wanted: readonly string[]): void {
      if (type === CDS && variant === "sotw") return;
      const mine = asked.get(type);
      const added = wanted.map((name) => named(type, name)).filter((name) => !mine?.has(name));
      if (added.length === 0) return;
      for (const name of added) mine?.add(name);
      request(type, { subscribe: added });
    },
    askAgain(type: ResourceType, wanted: readonly string[]): void {
      // It says which versions it has, when it comes to that, and waits for nothing that it has.
      if (type === CDS && untold) return;
      const known = wanted.map((name) => named(type, name)).filter((name) => asked.get(type)?.has(name));
      // State of the world has no word for it.
      if (variant === "sotw" || known.length === 0) return;
      for (const name of known) awaited.add(`${type} ${name}`);
      request(type, { subscribe: known });
    },
    unsubscribe(type: ResourceType, gone: readonly string[]): void {
      if (type === CDS && variant === "sotw") return;
      const mine = asked.get(type);
      const removed = gone.map((name) => named(type, name)).filter((name) => mine?.has(name));
      if (removed.length === 0) return;
      for (const name of removed) {
        mine?.delete(name);
        // In state of the world, giving up and taking back within one answer cannot be told: such a client keeps it.
        if (variant === "delta") drop(type, name);
      }
      request(type, { unsubscribe: removed });
      tellClusters();
    },
    deliver(refusal: Refusal): boolean {
      const response = state.next(nowMs);
      if (response) take(response, refusal);
      tellClusters();
      return response !== undefined;
    },
    flow(rounds: number): void {
      for (let i = 0; i < rounds; i++) {
        outgoing.shift()?.();
        life.deliver("ack");
      }
    },
    /** Who gives all up and takes it back while an answer is on its way cannot be told what of that has gone. */
    star(on: boolean): void {
      if (variant === "sotw" || on === starred) return;
      life.flow(30);
      starred = on;
      for (const name of [...mineOf(CDS).keys(), ...halfMade.keys()]) if (!isAsked(CDS, name)) drop(CDS, name);
      request(CDS, on ? { subscribe: ["*"] } : { unsubscribe: ["*"] });
      while (outgoing.length > 0) outgoing.shift()?.();
    },
    reconnect(first: ResourceType, lies: readonly string[], lost: readonly string[]): void {
      outgoing = [];
      doubtful.clear();
      // What it still waits for it cannot tell: it says which versions it has, and no more.
      awaited.clear();
      doubtedVersions.clear();
      for (const [name, one] of halfMade) unheard.add(keyOf(CDS, name, one));
      kept = new Set();
      state = start();
      nonces.clear();
      untold = undefined;
      for (const type of new Set([first, ...followed])) {
        if (!isFollowed(type)) continue;
        if (variant === "delta") for (const name of lost) lose(type, named(type, name));
        if (type === CDS && isWaiting()) untold = () => isFollowed(CDS) && comeBack(CDS, namesOf(CDS), lies);
        else {
          const names = namesOf(type);
          outgoing.push(() => comeBack(type, names, lies));
        }
      }
    },
    /** All answers given, all waits over. */
    rest(): void {
      for (let i = 0, idle = 0; i < 400; i++) {
        nowMs += 6000;
        state.wake();
        const request = outgoing.shift();
        request?.();
        idle = life.deliver("ack") || request ? 0 : idle + 1;
        if (idle > 2) return;
      }
      throw new Error("it does not come to rest");
    },
    /** What differs from what is wanted, but for versions that the client refused. */
    wrong(): string[] {
      const all = new Set(followed.flatMap((type) => [...(asked.get(type) ?? [])].map((name) => `${type} ${name}`)));
      const wrong = [...kept.difference(all)].map((one) => `${one}: kept, and not asked for`);
      for (const { type, isSettled } of state.states()) if (!isSettled) wrong.push(`${type}: an answer is awaited`);
      for (const type of followed)
        for (const name of pool.map((one) => named(type, one))) {
          const wanted = isAsked(type, name) ? sets.get(type)?.get(name) : undefined;
          const mine = held.get(type)?.get(name);
          const believed = state.state(type)?.accepted(name);
          const key = keyOf(type, name, believed);
          if (refused.has(key) && !unheard.has(key))
            wrong.push(`${type} ${name}: is said to be there, and was refused`);
          const isRefused = [refused, poison, doubtedVersions].some((all) => all.has(keyOf(type, name, wanted)));
          if (isRefused || doubtful.has(`${type} ${name}`)) continue;
          const isWarming = type === EDS && warming.has(named(CDS, name));
          if (wanted && (isWarming || awaited.has(`${type} ${name}`))) wrong.push(`${type} ${name}: waits for it`);
          if (wanted?.hash === mine?.hash) continue;
          // In state of the world nobody is told that endpoints have gone: the client stops asking.
          if (variant === "sotw" && type !== CDS && !wanted) continue;
          const text = (one: Resource | undefined): string => (one ? Buffer.from(bytesOf(one)).toString() : "nothing");
          wrong.push(`${type} ${name}: has ${text(mine)}, wanted ${text(wanted)}`);
        }
      return wrong;
    },
    begin(): void {
      request(CDS, {});
    },
  };
  return life;
}

const layers: fc.Arbitrary<Layers> = fc.array(fc.dictionary(fc.constantFrom(...pool), fc.nat(1), { maxKeys: 3 }), {
  maxLength: 2,
});
const some = fc.uniqueArray(fc.constantFrom(...pool), { minLength: 1, maxLength: 4 });
const few = fc.uniqueArray(fc.constantFrom(...pool), { maxLength: 2 });
const ofType = fc.constantFrom(...followed);
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { arbitrary: fc.record({ put: layers, type: ofType, move: fc.boolean() }), weight: 8 },
    { arbitrary: fc.record({ subscribe: some, type: ofType }), weight: 2 },
    fc.record({ again: some, type: ofType }),
    fc.record({ unsubscribe: some, type: ofType }),
    {
      arbitrary: fc.record({
        deliver: fc.constantFrom("ack", "ack", "ack", "nack", "nack-named", "nack-half-made", "nack-silent"),
      }),
      weight: 3,
    },
    { arbitrary: fc.constant({ answer: true } as const), weight: 3 },
    { arbitrary: fc.record({ flow: fc.integer({ min: 2, max: 12 }) }), weight: 5 },
    fc.record({ reconnect: ofType, lies: few, lost: few }),
    fc.record({ star: fc.boolean() }),
    fc.record({ lose: layers }),
  ),
  { maxLength: 60, size: "max" },
);

/** Found once: what was refused, and is taken in the next response beside something else that is refused by name. */
const takenBeside: readonly Step[] = [
  { put: [{ a: 0 }], type: CDS, move: false },
  { flow: 2 },
  { put: [{ b: 1 }], type: CDS, move: false },
  { deliver: "nack" },
  { put: [{ b: 1, c: 0 }], type: CDS, move: false },
  { deliver: "nack-named" },
];

/** And what is to go, where two versions of what comes instead are refused one after the other. */
const refusedTwice: readonly Step[] = [
  { put: [{ c: 0 }], type: CDS, move: false },
  { flow: 2 },
  { put: [{ a: 0 }], type: CDS, move: false },
  { deliver: "nack-silent" },
  { answer: true },
  { put: [{ a: 1 }], type: CDS, move: false },
  { deliver: "nack-silent" },
];

/** And what comes in a set that was on its way when something else of it was refused by name. */
const onItsWay: readonly Step[] = [
  { answer: true },
  { put: [{ b: 0 }], type: CDS, move: false },
  { deliver: "nack-named" },
  { put: [{ a: 0, b: 0 }], type: CDS, move: false },
  { deliver: "nack-silent" },
];

/** And what comes once more, as it was left half-made, in a set that was on its way. */
const passedOver: readonly Step[] = [
  { answer: true },
  { put: [{ b: 0 }], type: CDS, move: false },
  { deliver: "nack-half-made" },
  { put: [{ a: 0, b: 0 }], type: CDS, move: false },
  { deliver: "ack" },
];

/** And a cluster that is taken in a set that was on its way when the one that brought it was refused: it needs endpoints. */
const takenLate: readonly Step[] = [
  { subscribe: ["b"], type: EDS },
  { flow: 2 },
  { put: [{ b: 0 }], type: CDS, move: false },
  { deliver: "nack" },
  { put: [{ b: 0 }], type: EDS, move: false },
  { deliver: "ack" },
  { put: [{ b: 0 }, { a: 0 }], type: CDS, move: false },
];

/** And the version before it, where the set that takes a half-made one back is refused for another. */
const takenBack: readonly Step[] = [
  { put: [{ a: 1 }], type: CDS, move: false },
  { subscribe: ["a"], type: EDS },
  { flow: 2 },
  { put: [{ a: 0 }], type: CDS, move: false },
  { deliver: "nack-half-made" },
  { put: [{ a: 0, b: 0, c: 0 }], type: CDS, move: false },
  { put: [{ a: 0 }], type: EDS, move: false },
  { deliver: "nack-silent" },
];

/** And what is given up by name while all is asked for, and refused when it comes again. */
const givenUp: readonly Step[] = [
  { put: [{ a: 0 }], type: CDS, move: false },
  { flow: 2 },
  { subscribe: ["a"], type: CDS },
  { unsubscribe: ["a"], type: CDS },
  { answer: true },
  { deliver: "nack-named" },
];

/** And what has gone and comes again while another waits for its endpoints, and is refused then. */
const goneBetween: readonly Step[] = [
  { put: [{ a: 1 }], type: CDS, move: false },
  { subscribe: ["b"], type: EDS },
  { flow: 2 },
  { put: [{ b: 0 }], type: CDS, move: false },
  { put: [{ b: 0 }], type: EDS, move: false },
  { deliver: "ack" },
  { put: [{ b: 0, a: 1 }], type: CDS, move: false },
  { deliver: "nack-named" },
];

/** And what waits for its endpoints when it is to go, with a response that is refused. */
const goingBetween: readonly Step[] = [
  { put: [{ b: 0 }], type: EDS, move: false },
  { flow: 2 },
  { subscribe: ["b"], type: EDS },
  { put: [{ b: 0 }], type: CDS, move: false },
  { deliver: "ack" },
  { put: [{ a: 0 }], type: CDS, move: false },
  { deliver: "nack-silent" },
];

/** And what a cluster waits for that has come just before the stream was lost. */
const lostBetween: readonly Step[] = [
  { put: [{ a: 0 }], type: EDS, move: false },
  { put: [{ a: 0 }], type: CDS, move: false },
  { subscribe: ["a"], type: EDS },
  { flow: 8 },
  { lose: [{ a: 1 }] },
];

/** And names that were asked for before all was: the source kept them for as long as the stream lived. */
const namedBeforeAll: readonly Step[] = [
  { star: false },
  { subscribe: ["a"], type: CDS },
  { flow: 2 },
  { star: true },
  { unsubscribe: ["a"], type: CDS },
];

test.each(["sotw", "delta"] as const)("%s", (variant) => {
  fc.assert(
    fc.property(steps, (course) => {
      const life = createLife(variant);
      life.begin();
      for (const step of course) life.step(step);
      life.rest();
      expect(life.wrong()).toEqual([]);
    }),
    {
      numRuns: Number(process.env.FAIRLEAD_LIVES ?? 1000),
      examples: [
        [takenBeside],
        [refusedTwice],
        [onItsWay],
        [passedOver],
        [takenLate],
        [takenBack],
        [givenUp],
        [goneBetween],
        [goingBetween],
        [lostBetween],
        [namedBeforeAll],
      ],
    },
  );
});
