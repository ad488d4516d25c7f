/**
 * Changes of objects, and what proxies answer, in; for an object, whether all proxies that it reaches have its generation,
 * out. Streams know what they were sent and what of it was taken, and the graph knows what is made from an object. So a
 * further proxy costs nothing here, and a change what it makes again. What was made before is known to neither: of that, as
 * much is remembered as some proxy has.
 */
import type { Collection, Graph } from "../../collections/index.ts";
import { printable } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { type Ads, type ProxyNode, shortName } from "../../xds/index.ts";
import { createPolite, politely } from "../politely.ts";
import type { Refusal } from "../refusals.ts";
import type { ControlledSource } from "../source/resource-source.ts";
import { createEarlierGenerations, type Earlier } from "./earlier-generations.ts";
import { judgeSteps, type Refusing, type Verdict } from "./judge.ts";
import { type Made, type Reach, reachOf } from "./reach.ts";
import { createRosters } from "./roster.ts";
import { createTidy, type TidyTimes, tidySteps } from "./tidy.ts";

export interface ProgrammedOptions {
  readonly graph: Graph;
  readonly resources: Pick<ControlledSource, "rendered" | "made" | "failedMoves" | "isStale">;
  readonly ads: Pick<Ads, "progress" | "moves">;
  /** Of kinds that proxies are sent something because of, by their names; where two have one, with the group of the second. */
  readonly kinds: ReadonlyMap<string, Collection<KubeObject>>;
  /** What a proxy refused where it is not sent an EnvoyFilter (`namespace/name`) because of that. */
  readonly withheld: (node: ProxyNode, filter: string) => Refusal | undefined;
  /** Whether it is still to be found what it is that a proxy refuses. */
  readonly isOpen: (node: ProxyNode) => boolean;
  /** False while what an object of the kind says cannot be used yet, as types that patches name are loaded. */
  readonly isReady: (kind: string) => boolean;
  /** Where what nobody has could not be forgotten. */
  readonly onFault: (error: unknown) => void;
  readonly tidyTimes?: Partial<TidyTimes>;
}

export interface ObjectVerdict extends Verdict {
  readonly generation: number | undefined;
  /** Whether all that the object makes has been made, but for what could not be, and proxies have been told. */
  readonly isMade: boolean;
}

export interface Programmed {
  /** Undefined where there is no such object, or its kind reaches no proxy. */
  of(kind: string, key: string): Promise<ObjectVerdict | undefined>;
  /** It has another value whenever verdicts may have. */
  readonly moves: string;
  /** Told with each object that has a new generation, as `Kind/namespace/name`. */
  subscribe(listener: (id: string) => void): () => void;
  /** Told of those that are gone too, and with the names of what was made from the object until now. */
  followReach(listener: (id: string, names: ReadonlySet<string>) => void): void;
  /** `pod.namespace` of those that still have what was made from an object that has gone. */
  stillHave(id: string): Promise<readonly string[]>;
  /** How much is remembered of earlier generations; tests count with it. */
  readonly kept: number;
}

const nothing: Reach = new Map();
const noEarlier: Earlier = new Map();
const nobody: Verdict = { affected: 0, acknowledged: 0, refusing: [], waiting: [] };

export function createProgrammed({
  graph,
  resources,
  ads,
  kinds,
  isReady,
  withheld,
  isOpen,
  onFault,
  tidyTimes,
}: ProgrammedOptions): Programmed {
  const generations = createEarlierGenerations();
  const listeners = new Set<(id: string) => void>();
  const reachListeners = new Set<(id: string, names: ReadonlySet<string>) => void>();
  const rosters = createRosters({ graph, resources, ads });
  /** A verdict takes a moment, and whoever writes statuses or tells of changes asks for fifty of them. */
  const judging = createPolite();
  const grown = createTidy({
    size: () => generations.size,
    async work() {
      const moment = { version: graph.version, made: resources.made };
      await politely(tidySteps(await rosters.current(), generations, moment));
    },
    ...{ onFault, times: tidyTimes },
  });
  const reach = (kind: string, objects: Collection<KubeObject>, key: string): Reach =>
    reachOf({ graph, resources }, kind, objects, key);
  const isMade = (kind: string, id: string): boolean =>
    resources.made >= (generations.get(id)?.version ?? 0) && isReady(kind);
  /** Not where it has changed once more. */
  const settled = (id: string, version: number | undefined): void => {
    if (generations.get(id)?.version === version) generations.delete(id);
  };
  for (const [kind, objects] of kinds)
    objects.subscribe((key, now, last) => {
      const id = `${kind}/${key}`;
      if (now && last && isSame(now, last)) return;
      // After one that has gone only they ask.
      if (!now && reachListeners.size === 0) return generations.delete(id);
      // Who read the generation before has not been made again yet; and what is told here is part of the next version.
      const until = last ? reach(kind, objects, key) : nothing;
      generations.add(id, { version: graph.version + 1, isGone: !now }, until);
      for (const tell of reachListeners) tell(id, new Set(generations.get(id)?.earlier.keys()));
      for (const tell of now ? listeners : []) tell(id);
      grown();
    });

  return {
    async of(kind, key) {
      const id = `${kind}/${key}`;
      // What is not made yet needs no look at proxies.
      const roster = isMade(kind, id) ? await rosters.current() : undefined;
      const objects = kinds.get(kind);
      const object = objects?.get(key);
      if (!objects || !object) return undefined;
      const change = generations.get(id);
      const { generation } = object.metadata;
      if (!roster || !isMade(kind, id)) return { ...nobody, generation, isMade: false };
      const isFilter = kind === "EnvoyFilter";
      const made = isFilter ? listsOf(reach(kind, objects, key)) : roster.madeOf(objects, key);
      const earlier = change?.earlier ?? noEarlier;
      // Of what reaches nobody, and never did, no proxy needs to be asked; only a filter can be withheld.
      if (made.length + earlier.size === 0 && !isFilter) return { ...nobody, generation, isMade: true };
      const steps = judgeSteps({
        ...{ roster, made, earlier, isOpen, version: change?.version ?? 0, isStale: resources.isStale },
        // As provenance calls it.
        object: `${kind.split(".")[0]}/${key}`,
        withheld: isFilter ? (node) => refusingOf(withheld(node, key)) : undefined,
      });
      const verdict = await judging(steps);
      if (verdict.acknowledged === verdict.affected) settled(id, change?.version);
      return { ...verdict, generation, isMade: true };
    },
    get moves() {
      return `${ads.moves} ${resources.made} ${resources.failedMoves}`;
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    followReach: (listener) => void reachListeners.add(listener),
    async stillHave(object) {
      const roster = await rosters.current();
      const change = generations.get(object);
      if (!change) return [];
      const { earlier, version } = change;
      const { waiting } = await judging(
        judgeSteps({
          ...{ roster, object, earlier, isOpen, version, isStale: resources.isStale },
          ...{ made: [], withheld: undefined },
        }),
      );
      if (waiting.length === 0 && change.isGone && resources.made >= version) settled(object, version);
      return waiting;
    },
    get kept() {
      return generations.size;
    },
  };
}

/** A status is no part of a generation. */
function isSame(now: KubeObject, last: KubeObject): boolean {
  const [a, b] = [now.metadata, last.metadata];
  return a.uid === b.uid && a.generation !== undefined && a.generation === b.generation;
}

const listsOf = (reach: Reach): Made => [...reach.values()].map((made) => [...made]);

function refusingOf(refusal: Refusal | undefined): Refusing | undefined {
  if (!refusal) return undefined;
  const { proxy, type, resource, words, instead } = refusal;
  return {
    proxy: printable(proxy),
    part: `${shortName(type)} ${printable(resource)}`,
    words: instead === undefined ? words : `${words}; ${instead}`,
  };
}
