/** A life in; the first difference between a mesh that lived it and one made from its objects just now out. */
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  bytesOf,
  envoyTypes,
  type KubeObject,
  type Resource,
  type ResourceType,
  type RouteParts,
  routeHosts,
  types,
} from "../../src/model/index.ts";
import { splitRoute } from "../../src/xds/stream/route-parts.ts";
import { createFastClock } from "./fast-clock.ts";
import { idOf, type Life, type Step } from "./life.ts";
import type { LiveProxy } from "./proxies.ts";
import { type Connected, createWorld, type World, type WorldSettings } from "./world.ts";

export interface Difference {
  readonly step: number;
  readonly proxy: string;
  readonly type: ResourceType | undefined;
  readonly name: string;
  readonly what: string;
  readonly live: Resource | undefined;
  readonly fresh: Resource | undefined;
}

/** With the names that agents resolve. */
const comparedTypes: readonly ResourceType[] = [...envoyTypes, types.nameTable];

interface Watched {
  readonly proxy: LiveProxy;
  readonly connected: Connected;
  /** Names that it was ever given: an Envoy may go on asking for them. */
  readonly names: Map<ResourceType, Set<string>>;
  last: ReadonlyMap<ResourceType, ReadonlyMap<string, Resource>> | undefined;
}

export interface PlayerOptions {
  /** No round begins by itself, and one takes a turn for each of its steps: the same life is the same each time. */
  readonly isReplayable?: boolean;
  /** Of both meshes, the one that lives and the fresh one. */
  readonly settings?: WorldSettings;
}

const neverMs = 3_600_000;

export interface Player {
  readonly world: World;
  readonly objects: ReadonlyMap<string, KubeObject>;
  /** Does a step; what proxies are given is made, as streams would have it made, or at least begun to be made. */
  step(step: Step): Promise<void>;
  /** Resolves when all that the steps so far have changed is made. */
  settled(): Promise<void>;
  /** Undefined where all is equal, once it has settled. */
  compare(step: number): Promise<Difference | undefined>;
  /** How many steps came while what the one before had changed was not all made. */
  readonly between: number;
  /** How many proxies have something withheld from them. */
  readonly withholding: number;
  close(): Promise<void>;
}

export async function createPlayer({ isReplayable = false, settings = {} }: PlayerOptions = {}): Promise<Player> {
  const world = await createWorld([], { settings, ...(isReplayable ? { debounceMs: neverMs } : {}) });
  const clock = createFastClock();
  const objects = new Map<string, KubeObject>();
  const watched = new Map<string, Watched>();
  let silent: Difference | undefined;
  /** What steps have begun and nobody has waited for. */
  const underWay = new Set<Promise<void>>();
  let between = 0;
  let isSettled = true;

  const begin = (): void => {
    isSettled = false;
    if (isReplayable) clock.start();
    const round = world.push().finally(() => underWay.delete(round));
    underWay.add(round);
  };
  const settled = async (): Promise<void> => {
    clock.stop();
    await world.settled();
    isSettled = true;
    for (const one of watched.values()) silent = untold(one) ?? silent;
  };

  const perform = async (step: Step): Promise<void> => {
    if (step.does === "change") {
      // A step that was left out may have written what this one removes.
      const remove = step.remove.filter((object) => objects.has(idOf(object)));
      for (const object of remove) objects.delete(idOf(object));
      for (const object of step.apply) objects.set(idOf(object), object);
      world.change(step.apply, remove);
    } else if (step.does === "connect") {
      const { proxy } = step;
      const names = new Map(comparedTypes.map((type) => [type, new Set<string>(proxy.asks?.get(type))]));
      watched.set(proxy.name, { proxy, connected: await world.connect(proxy), names, last: undefined });
    } else if (step.does === "withhold") {
      const before = (key: string) => (step.instead === "before" ? world.before(key) : undefined);
      const one = watched.get(step.name);
      if (one) world.withhold(one.proxy.node, new Map(step.filters.map((key) => [key, before(key)])));
    } else {
      watched.get(step.name)?.connected.close();
      watched.delete(step.name);
    }
  };

  const compare = async (number: number): Promise<Difference | undefined> => {
    if (!isSettled) await settled();
    // The order in which objects come must not matter either.
    const fresh = await createWorld([...objects.values()].reverse(), { settings });
    try {
      const faults = [...world.faults(), ...fresh.faults()];
      if (faults[0] !== undefined) return plain(number, "", `a fault of ours: ${faults[0]}`);
      for (const one of watched.values()) {
        const found = compareProxy(one, await connectAsIn(world, fresh, one.proxy), number);
        if (found) return found;
      }
      const late = [...world.faults(), ...fresh.faults()];
      return late[0] === undefined
        ? silent && { ...silent, step: number }
        : plain(number, "", `a fault of ours: ${late[0]}`);
    } finally {
      await fresh.close();
    }
  };

  return {
    world,
    objects,
    async step(step) {
      if (underWay.size > 0) between++;
      await perform(step);
      if (step.turns === undefined) return settled();
      begin();
      for (let turn = 0; turn < step.turns; turn++) await nextTurn();
    },
    settled,
    compare,
    get between() {
      return between;
    },
    get withholding() {
      return [...watched.values()].filter(({ proxy }) => world.withheldFrom(proxy.node).size > 0).length;
    },
    async close() {
      clock.stop();
      await world.close();
    },
  };
}

/** To a fresh mesh, with what is withheld from the proxy in the one that lives. */
export async function connectAsIn(world: World, fresh: World, proxy: LiveProxy): Promise<Connected> {
  const connected = await fresh.connect(proxy);
  const filters = world.withheldFrom(proxy.node);
  if (filters.size === 0) return connected;
  fresh.withhold(proxy.node, filters);
  await fresh.settled();
  return connected;
}

function compareProxy({ proxy, connected, names }: Watched, fresh: Connected, step: number): Difference | undefined {
  for (const type of comparedTypes) {
    const [live, expected] = [connected.all(type), fresh.all(type)];
    const known = names.get(type) ?? new Set();
    for (const name of new Set([...live.keys(), ...expected.keys()])) {
      known.add(name);
      const pair = { live: live.get(name), fresh: expected.get(name) };
      const what = different(pair.live, pair.fresh);
      if (what) return { step, proxy: proxy.name, type, name, what, ...pair };
    }
    for (const name of known) {
      const pair = { live: connected.get(type, name), fresh: fresh.get(type, name) };
      const what = different(pair.live, pair.fresh);
      if (what) return { step, proxy: proxy.name, type, name, what: `asked for by name: ${what}`, ...pair };
    }
  }
  return undefined;
}

function different(live: Resource | undefined, fresh: Resource | undefined): string | undefined {
  if (live === undefined || fresh === undefined)
    return live === fresh ? undefined : live ? "should be gone" : "is missing";
  if (Buffer.compare(bytesOf(live), bytesOf(fresh)) !== 0) return "is outdated";
  if (live.hash !== fresh.hash) return "has the digest of something else";
  const [held, wanted] = [[...live.needs].sort().join(), [...fresh.needs].sort().join()];
  if (held !== wanted) return `needs ${held || "nothing"} instead of ${wanted || "nothing"}`;
  return differentHosts(live.hosts?.(), fresh.hosts?.()) ?? wronglyApart(live);
}

/** Virtual hosts that are sent one by one. */
function differentHosts(live: RouteParts | undefined, fresh: RouteParts | undefined): string | undefined {
  if (!live || !fresh) return live === fresh ? undefined : `${live ? "can" : "cannot"} be taken apart`;
  if (Buffer.compare(live.rest, fresh.rest) !== 0) return "is outdated when taken apart";
  const [held, wanted] = [routeHosts(live), new Map(routeHosts(fresh).map((host) => [host.name, host]))];
  if (held.length !== wanted.size) return `has ${held.length} virtual hosts instead of ${wanted.size}`;
  for (const host of held) {
    const what = different(host, wanted.get(host.name));
    if (what) return `virtual host ${host.name} ${what}`;
  }
  return undefined;
}

/** What rendering takes apart is what its bytes give. */
function wronglyApart(route: Resource): string | undefined {
  const said = (parts: RouteParts): string =>
    [parts.rest, ...routeHosts(parts).map(bytesOf)]
      .map((bytes) => Buffer.from(bytes).toString("base64"))
      .concat(routeHosts(parts).map(({ name, hash }) => `${name} ${hash}`))
      .join();
  return route.hosts && said(route.hosts()) !== said(splitRoute(route)) ? "is not what its bytes give" : undefined;
}

/** All of a type, with what is asked for by name. */
function given(connected: Connected, type: ResourceType, names: readonly string[] = []): ReadonlyMap<string, Resource> {
  const named = names.flatMap((name): readonly (readonly [string, Resource])[] => {
    const found = connected.get(type, name);
    return found ? [[name, found]] : [];
  });
  return named.length === 0 ? connected.all(type) : new Map([...connected.all(type), ...named]);
}

/** A stream sends only what it is told of: what changed silently is never sent. */
function untold(one: Watched): Difference | undefined {
  const { last, connected, proxy } = one;
  const now = new Map(comparedTypes.map((type) => [type, given(connected, type, proxy.asks?.get(type))]));
  one.last = now;
  const silent = last && comparedTypes.flatMap((type) => silentNames(connected, type, last.get(type), now.get(type)));
  connected.forget();
  const [first] = silent ?? [];
  return first && { ...plain(0, proxy.name, "changed, and the proxy was not told"), ...first };
}

function silentNames(
  connected: Connected,
  type: ResourceType,
  before: ReadonlyMap<string, Resource> = new Map(),
  now: ReadonlyMap<string, Resource> = new Map(),
): readonly { readonly type: ResourceType; readonly name: string }[] {
  const changed = [...new Set([...before.keys(), ...now.keys()])].filter(
    (name) => before.get(name)?.hash !== now.get(name)?.hash && !connected.told(type, name),
  );
  return changed.map((name) => ({ type, name }));
}

const plain = (step: number, proxy: string, what: string): Difference => ({
  step,
  proxy,
  type: undefined,
  name: "",
  what,
  live: undefined,
  fresh: undefined,
});

/** Plays a life up to its first difference: looked for whenever a step has settled, or only at its end. */
export async function play(
  { steps: life, settings }: Life,
  when: "each step" | "end" = "each step",
): Promise<Difference | undefined> {
  const player = await createPlayer({ isReplayable: true, settings });
  try {
    for (const [number, step] of life.entries()) {
      await player.step(step);
      const difference = when === "each step" && step.turns === undefined ? await player.compare(number) : undefined;
      if (difference) return difference;
    }
    const isCompared = when === "each step" && life.at(-1)?.turns === undefined;
    return isCompared ? undefined : await player.compare(life.length - 1);
  } finally {
    await player.close();
  }
}
