/**
 * Changes that have just come in; who has them, and what they altered in proxies, noted on each as it becomes known, out.
 * It is looked a few times a second, and only while some change is not known to be everywhere.
 */
import type { Collection, Graph } from "../../../collections/index.ts";
import type { KubeObject } from "../../../model/index.ts";
import type { Change } from "../../../read-api/index.ts";
import { type Programmed, type Reach, reachOf } from "../../programmed/index.ts";
import type { ControlledSource } from "../../resource-source.ts";
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
  readonly change: KeptChange;
  /** The graph's version that has it. */
  readonly version: number;
  /** When it was last looked at, what had moved. */
  moves: string;
  /** That were given something else. */
  given: number;
}

/** In one look; the others come with the next. */
const handful = 50;
/** Of those who refuse a change; Envoy says the same to all. */
const maxRefusing = 5;
const nothing: Reach = new Map();

export function settleChanges(sources: SettleSources, told: Told): Settling {
  const { graph, kinds, programmed, resources, lookMs = 300 } = sources;
  /** By object: of one that has changed again only the last change can become everywhere. */
  const open = new Map<string, Open>();
  const befores = new Map<string, Reach>();
  const isWaiting = (): boolean => open.values().some(({ change }) => change.touched === undefined);
  const moves = createMoves(isWaiting);
  resources.followMoves(moves);
  programmed.followReach((id, before) => befores.set(id, before));
  let isDue = false;

  const note = (change: KeptChange, proxies: NonNullable<Change["proxies"]>): void => {
    if (JSON.stringify(change.proxies) === JSON.stringify(proxies)) return;
    change.proxies = proxies;
    told(change);
  };

  async function findTouched(id: string, one: Open, before: Reach): Promise<void> {
    const objects = kinds.get(one.kind);
    if (one.change.touched || !objects) return;
    const after = objects.get(one.key) ? reachOf({ graph, resources }, one.kind, objects, one.key) : nothing;
    const found = await moves.touchedBy(one.version, [before, after]);
    one.given = found.proxies;
    one.change.touched = found.resources;
    if (found.untold > 0) one.change.untold = found.untold;
    if (open.get(id) === one && !isWaiting()) moves.forget();
    told(one.change, found.pairs);
  }

  async function look(id: string, one: Open): Promise<void> {
    if (resources.made < one.version || one.moves === programmed.moves) return;
    one.moves = programmed.moves;
    const before = befores.get(id) ?? nothing;
    await findTouched(id, one, before);
    const who = await (one.change.act === "removed" ? ofRemoved(id, one, before) : ofPresent(one));
    // Another change has come meanwhile, or it is not all made yet.
    if (!who || open.get(id) !== one) return;
    note(one.change, who);
    if (who.acknowledged < who.affected) return;
    open.delete(id);
    befores.delete(id);
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

  async function ofRemoved(id: string, { given }: Open, before: Reach): Promise<Change["proxies"]> {
    const waiting = (await programmed.stillHave(id, before)).length;
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
    for (const id of befores.keys()) if (!open.has(id)) befores.delete(id);
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
      const last = open.get(change.object)?.change;
      if (last?.proxies) note(last, { ...last.proxies, isOvertaken: true });
      // What is told here is part of the next version.
      open.set(change.object, { kind, key, change, version: graph.version + 1, moves: "", given: 0 });
      again();
    },
  };
}
