/**
 * Sources in; the classes with their proxies out, put together once for all objects that are judged at the same moment:
 * what an object costs then is what was made from it. Proxies that are equally far with everything stand for each other.
 */
import type { Graph } from "../../collections/index.ts";
import { emptyResourceSet, envoyTypes } from "../../model/index.ts";
import type { Renderer } from "../../render/index.ts";
import type { Ads, ProxyNode, ProxyProgress } from "../../xds/index.ts";
import { politely } from "../politely.ts";
import type { Stuck } from "../source/failed-classes.ts";
import { madeSet } from "../source/made-set.ts";
import type { ControlledSource } from "../source/resource-source.ts";
import { crowdsOf } from "./crowds.ts";
import { createMadeOf } from "./reach.ts";
import { createWhere, type Owner, type Where } from "./where.ts";

export interface RosterSources {
  readonly graph: Pick<Graph, "version" | "sharedDependents">;
  readonly resources: Pick<ControlledSource, "rendered" | "made" | "failedMoves">;
  readonly ads: Pick<Ads, "progress" | "moves">;
}

export interface Roster {
  /** Of the graph: what is made from an object then is what these classes have of it. */
  readonly version: number;
  readonly classes: readonly ClassEntry[];
  /** Without classes that patches are applied to: what these have is no longer what was made from an object. */
  readonly where: Where;
  readonly patched: readonly ClassEntry[];
  /** What was made from an object at this moment. */
  readonly madeOf: ReturnType<typeof createMadeOf>;
}

export interface ClassEntry extends Owner, Stuck {
  readonly renderer: Renderer;
  readonly nodes: readonly ProxyNode[];
}

export interface Rosters {
  /** In slices; of the graph as it is when it is there. */
  current(): Promise<Roster>;
}

/** What a proxy may be about to ask for is awaited for a moment, which has to end. */
const maxAgeMs = 200;
/** How often it is put together in slices: where changes come in between each time, it is done in one go. */
const attempts = 3;

export function createRosters(sources: RosterSources): Rosters {
  const { graph, resources, ads } = sources;
  /** Who has gone is not held for it. */
  let known: { readonly roster: WeakRef<Roster>; readonly key: string; readonly atMs: number } | undefined;
  /** Whoever asks meanwhile waits for the same one, where all was made when it was begun and nothing has moved since. */
  let making: { readonly roster: Promise<Roster>; readonly key: string } | undefined;
  const keyNow = (): string => `${ads.moves} ${graph.version} ${resources.failedMoves}`;

  // While a change is made, classes come to it one after the other, and nobody says when.
  const isAllMade = (): boolean => resources.made === graph.version;
  const kept = (): Roster | undefined => {
    const isSame = isAllMade() && known?.key === keyNow() && performance.now() - known.atMs < maxAgeMs;
    return isSame ? known?.roster.deref() : undefined;
  };

  const made = (key: string, isAll: boolean): Promise<Roster> => {
    if (isAll && making?.key === key) return making.roster;
    const begun = { key, roster: politely(rosterSteps(sources)) };
    if (isAll) making = begun;
    const end = (): void => {
      if (making === begun) making = undefined;
    };
    void begun.roster.then(end, end);
    return begun.roster;
  };

  return {
    async current() {
      for (let attempt = 0; attempt < attempts; attempt++) {
        const found = kept();
        if (found) return found;
        const [key, atMs, isAll] = [keyNow(), performance.now(), isAllMade()];
        const roster = await made(key, isAll);
        if (roster.version !== graph.version) continue;
        known = isAll ? { roster: new WeakRef(roster), key, atMs } : undefined;
        return roster;
      }
      const steps = rosterSteps(sources);
      for (;;) {
        const { done, value } = steps.next();
        if (done) return value;
      }
    },
  };
}

/** It may have anything of what it was sent. */
const neverMade: Stuck = { stuckAt: 0 };

function* rosterSteps({ graph, resources, ads }: RosterSources): Generator<undefined, Roster> {
  const { version } = graph;
  const proxies = new Map<ProxyNode, ProxyProgress>();
  for (const proxy of ads.progress()) proxies.set(proxy.node, proxy);
  yield;
  const classes: ClassEntry[] = [];
  const patched: ClassEntry[] = [];
  const where = createWhere();
  for (const { renderer, nodes, ...known } of [...resources.rendered()]) {
    const all = envoyTypes.map((type) => madeSet(renderer, type));
    const sets = all.map((set) => set ?? emptyResourceSet);
    const stuck = all.includes(undefined) ? neverMade : known;
    const crowds = crowdsOf(
      [...nodes].flatMap((node) => proxies.get(node) ?? []),
      sets,
    );
    const entry = { renderer, sets, nodes: [...nodes], crowds, ...stuck };
    classes.push(entry);
    if (renderer.proxy.envoyFilters.length === 0) where.add(entry);
    else patched.push(entry);
    yield;
  }
  return { version, classes, where, patched, madeOf: createMadeOf(graph) };
}
