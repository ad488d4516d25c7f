/**
 * Changes that have just come in; who has them, and what they altered in proxies, noted on each as it becomes known, out.
 * It is looked a few times a second, and only while some change is not known to be everywhere.
 */
import type { Collection, Graph } from "../../../collections/index.ts";
import type { KubeObject } from "../../../model/index.ts";
import type { Change } from "../../../read-api/index.ts";
import { type Programmed, reachOf } from "../../programmed/index.ts";
import type { ControlledSource } from "../../source/resource-source.ts";
import type { KeptChange } from "./kept-change.ts";
import { createMoves, type TouchedPair } from "./touched.ts";

export interface SettleSources {
  readonly graph: Graph;
  readonly kinds: ReadonlyMap<string, Collection<KubeObject>>;
  readonly programmed: Programmed;
  readonly resources: Pick<ControlledSource, "made" | "rendered" | "followMoves">;
  readonly onFault: (error: unknown) => void;
  readonly lookMs?: number;
}

/** `pairs` are what `touched` was and is, in its order, when that has just become known. */
export type Told = (change: KeptChange, pairs?: readonly TouchedPair[]) => void;

export interface Settling {
  begin(kind: string, key: string, change: KeptChange): void;
}

interface Open {
  readonly kind: string;
  readonly key: string;
  readonly objects: Collection<KubeObject>;
  readonly change: KeptChange;
  /** The graph's version that has it. */
  readonly version: number;
  /** Names of what the object made before. */
  readonly before: ReadonlySet<string>;
  /** When it was last looked at, what had moved. */
  moves: string;
  /** That were given something else. */
  given: number;
}

/** In one look; the others come with the next. */
const handful = 50;
/** Of those who refuse a change; Envoy says the same to all. */
const maxRefusing = 5;
const nothing: ReadonlySet<string> = new Set();
const nobody: NonNullable<Change["proxies"]> = {
  ...{ affected: 0, acknowledged: 0, waiting: 0, refusing: [] },
  isOvertaken: false,
};

export function settleChanges(sources: SettleSources, told: Told): Settling {
  const { graph, kinds, programmed, resources, lookMs = 300 } = sources;
  /** By object: of one that has changed again only the last change can become everywhere. */
  const open = new Map<string, Open>();
  /** Those of which it is not known yet what they have touched, the oldest first. */
  const unresolved = new Set<Open>();
  const moves = createMoves(() => unresolved.size > 0);
  resources.followMoves(moves);
  /** Of the object that changes now: it is told before the change begins here. */
  let reached: { readonly id: string; readonly names: ReadonlySet<string> } | undefined;
  programmed.followReach((id, names) => {
    reached = { id, names };
  });
  let isDue = false;

  const note = (change: KeptChange, proxies: NonNullable<Change["proxies"]>): void => {
    if (JSON.stringify(change.proxies) === JSON.stringify(proxies)) return;
    change.proxies = proxies;
    told(change);
  };

  /** Of what is made from the object now. */
  const namesOf = ({ kind, key, objects }: Open): ReadonlySet<string> =>
    objects.get(key) ? new Set(reachOf({ graph, resources }, kind, objects, key).keys()) : nothing;

  async function findTouched(one: Open, after: ReadonlySet<string>): Promise<void> {
    unresolved.delete(one);
    const isMade = resources.made >= one.version;
    // Of moves until now: what comes later is another change's.
    const found = await moves.touchedBy(one.version, one.before.union(after));
    // The next change may have come before this one was made: then it has touched nothing by itself.
    if (!isMade && found.resources.length === 0) return;
    one.given = found.proxies;
    one.change.touched = found.resources;
    if (found.untold > 0) one.change.untold = found.untold;
    told(one.change, found.pairs);
  }

  /** `until` are the names of what the object has made until the next change. */
  function overtake(one: Open, until: ReadonlySet<string>): void {
    note(one.change, { ...(one.change.proxies ?? nobody), isOvertaken: true });
    if (unresolved.has(one)) findTouched(one, until).catch(sources.onFault);
  }

  async function look(id: string, one: Open): Promise<void> {
    if (resources.made < one.version || one.moves === programmed.moves) return;
    one.moves = programmed.moves;
    if (unresolved.has(one)) await findTouched(one, namesOf(one));
    const who = await (one.change.act === "removed" ? ofRemoved(id, one) : ofPresent(one));
    // Another change has come meanwhile, or it is not all made yet.
    if (!who || open.get(id) !== one) return;
    note(one.change, who);
    if (who.acknowledged < who.affected) return;
    open.delete(id);
  }

  async function ofPresent({ kind, key, change }: Open): Promise<Change["proxies"]> {
    const verdict = await programmed.of(kind, key);
    if (!verdict?.isMade || verdict.generation !== change.generation) return undefined;
    const { affected, acknowledged, waiting, refusing } = verdict;
    return {
      ...{ affected, acknowledged, waiting: waiting.length, isOvertaken: false },
      refusing: refusing.slice(0, maxRefusing),
    };
  }

  async function ofRemoved(id: string, { given }: Open): Promise<Change["proxies"]> {
    const waiting = (await programmed.stillHave(id)).length;
    const affected = Math.max(given, waiting);
    return { affected, acknowledged: affected - waiting, waiting, refusing: [], isOvertaken: false };
  }

  async function turn(): Promise<void> {
    for (const [id, one] of [...open].slice(0, handful)) {
      await look(id, one).catch(sources.onFault);
      // To the end, so that the others have their turn.
      if (open.get(id) === one) {
        open.delete(id);
        open.set(id, one);
      }
    }
    // Changes may go on coming: what only earlier ones have waited for goes.
    const [oldest] = unresolved;
    moves.forget(oldest?.version ?? Number.POSITIVE_INFINITY);
    isDue = false;
    again();
  }

  const again = (): void => {
    if (open.size === 0 || isDue) return;
    isDue = true;
    setTimeout(() => void turn(), lookMs).unref();
  };

  return {
    begin(kind, key, change) {
      const objects = kinds.get(kind);
      if (!objects) return;
      const id = change.object;
      const before = reached?.id === id ? reached.names : nothing;
      reached = undefined;
      const last = open.get(id);
      if (last) overtake(last, before);
      // What is told here is part of the next version.
      const one = { kind, key, objects, change, version: graph.version + 1, before, moves: "", given: 0 };
      open.set(id, one);
      unresolved.add(one);
      again();
    },
  };
}
