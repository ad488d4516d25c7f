/**
 * Changes of objects, and what proxies answer, in; for an object, whether all proxies that it reaches have its generation,
 * out. Of what has not changed nothing is kept: streams know what they were sent and what of it was taken, and the graph
 * knows what was made from an object. So a further proxy costs nothing here, and a change what it makes again.
 */
import type { Collection, Graph } from "../../collections/index.ts";
import { printable } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { type Ads, type ProxyNode, shortName } from "../../xds/index.ts";
import { politely } from "../politely.ts";
import type { Refusal } from "../refusals.ts";
import type { ControlledSource } from "../resource-source.ts";
import { judgeSteps, type Refusing, type Verdict } from "./judge.ts";
import { type Made, type Reach, reachOf } from "./reach.ts";
import { createRosters } from "./roster.ts";

export interface ProgrammedOptions {
  readonly graph: Graph;
  readonly resources: Pick<ControlledSource, "rendered" | "made">;
  readonly ads: Pick<Ads, "progress" | "moves">;
  /** Of kinds that proxies are sent something because of, by their names; where two have one, with the group of the second. */
  readonly kinds: ReadonlyMap<string, Collection<KubeObject>>;
  /** What a proxy refused where it is not sent an EnvoyFilter (`namespace/name`) because of that. */
  readonly withheld: (node: ProxyNode, filter: string) => Refusal | undefined;
  /** Whether it is still to be found what it is that a proxy refuses. */
  readonly isOpen: (node: ProxyNode) => boolean;
  /** False while what an object of the kind says cannot be used yet, as types that patches name are loaded. */
  readonly isReady: (kind: string) => boolean;
}

export interface ObjectVerdict extends Verdict {
  readonly generation: number | undefined;
  /** Whether all that the object makes has been made, and proxies have been told. */
  readonly isMade: boolean;
}

export interface Programmed {
  /** Undefined where there is no such object, or its kind reaches no proxy. */
  of(kind: string, key: string): Promise<ObjectVerdict | undefined>;
  /** It has another value whenever verdicts may have. */
  readonly moves: string;
  /** Told with each object that has a new generation, as `Kind/namespace/name`. */
  subscribe(listener: (id: string) => void): () => void;
  /** Told of those that are gone too, and with what was made from the object until now. */
  followReach(listener: (id: string, before: Reach) => void): void;
  /** `pod.namespace` of those that still have what was made from an object. */
  stillHave(id: string, before: Reach): Promise<readonly string[]>;
}

/** An object that has changed and is not known to be everywhere. */
interface Change {
  readonly generation: number | undefined;
  /** The graph's version that has it. */
  readonly version: number;
  readonly before: Reach;
}

const nothing: Reach = new Map();
const nobody: Verdict = { affected: 0, acknowledged: 0, refusing: [], waiting: [] };

export function createProgrammed({
  graph,
  resources,
  ads,
  kinds,
  isReady,
  withheld,
  isOpen,
}: ProgrammedOptions): Programmed {
  const changes = new Map<string, Change>();
  const listeners = new Set<(id: string) => void>();
  const reachListeners = new Set<(id: string, before: Reach) => void>();
  const rosters = createRosters({ graph, resources, ads });
  const reach = (kind: string, objects: Collection<KubeObject>, key: string): Reach =>
    reachOf({ graph, resources }, kind, objects, key);
  const isMade = (kind: string, id: string): boolean =>
    resources.made >= (changes.get(id)?.version ?? 0) && isReady(kind);
  for (const [kind, objects] of kinds)
    objects.subscribe((key, now, last) => {
      const id = `${kind}/${key}`;
      if (now && last && isSame(now, last)) return;
      // Who read the generation before has not been made again yet.
      const until = last && (now || reachListeners.size > 0) ? reach(kind, objects, key) : nothing;
      const before = union(changes.get(id)?.before ?? nothing, until);
      for (const tell of reachListeners) tell(id, before);
      if (!now) changes.delete(id);
      if (!now) return;
      // What is told here is part of the next version.
      changes.set(id, { generation: now.metadata.generation, version: graph.version + 1, before });
      for (const tell of listeners) tell(id);
    });

  return {
    async of(kind, key) {
      const id = `${kind}/${key}`;
      // What is not made yet needs no look at proxies.
      const roster = isMade(kind, id) ? await rosters.current() : undefined;
      const objects = kinds.get(kind);
      const object = objects?.get(key);
      if (!objects || !object) return undefined;
      const change = changes.get(id);
      const { generation } = object.metadata;
      if (!roster || !isMade(kind, id)) return { ...nobody, generation, isMade: false };
      const isFilter = kind === "EnvoyFilter";
      const made = isFilter ? listsOf(reach(kind, objects, key)) : roster.madeOf(objects, key);
      const before = change?.before ?? nothing;
      // Of what reaches nobody, and never did, no proxy needs to be asked; only a filter can be withheld.
      if (made.length + before.size === 0 && !isFilter) return { ...nobody, generation, isMade: true };
      const steps = judgeSteps({
        ...{ roster, made, before, isOpen },
        // As provenance calls it.
        object: `${kind.split(".")[0]}/${key}`,
        withheld: isFilter ? (node) => refusingOf(withheld(node, key)) : undefined,
      });
      const verdict = await politely(steps);
      if (verdict.acknowledged === verdict.affected && changes.get(id) === change) changes.delete(id);
      return { ...verdict, generation, isMade: true };
    },
    get moves() {
      return `${ads.moves} ${resources.made}`;
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    followReach: (listener) => void reachListeners.add(listener),
    async stillHave(object, before) {
      const roster = await rosters.current();
      const steps = judgeSteps({ ...{ roster, object, before, isOpen }, made: [], withheld: undefined });
      return (await politely(steps)).waiting;
    },
  };
}

/** A status is no part of a generation. */
function isSame(now: KubeObject, last: KubeObject): boolean {
  const [a, b] = [now.metadata, last.metadata];
  return a.uid === b.uid && a.generation !== undefined && a.generation === b.generation;
}

const listsOf = (reach: Reach): Made => [...reach.values()].map((made) => [...made]);

/** A change that overtakes another: who has what either made is not done. */
function union(a: Reach, b: Reach): Reach {
  if (a.size === 0) return b;
  const all = new Map(b);
  for (const [name, made] of a) all.set(name, made.union(all.get(name) ?? new Set()));
  return all;
}

function refusingOf(refusal: Refusal | undefined): Refusing | undefined {
  if (!refusal) return undefined;
  const { proxy, type, resource, words, instead } = refusal;
  return {
    proxy: printable(proxy),
    part: `${shortName(type)} ${printable(resource)}`,
    words: instead === undefined ? words : `${words}; ${instead}`,
  };
}
