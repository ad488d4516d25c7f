/**
 * Sets of resources that proxies are given, as they are given others, and an object that has changed, in; the resources
 * that became others because of it out. Moves are noted only while a change waits to be told what it has moved.
 */
import { createRest } from "../../../lib/index.ts";
import type { Resource, ResourceSet, ResourceType } from "../../../model/index.ts";
import type { TouchedResource } from "../../../read-api/index.ts";
import { shortName } from "../../../xds/index.ts";
import type { MoveListener, SetMove } from "../../source/set-moves.ts";

/** A resource before and after; what many classes have in different ways is shown as the first has it. */
export interface TouchedPair {
  readonly type: ResourceType;
  readonly before?: Resource;
  readonly after?: Resource;
}

export interface Touched {
  readonly resources: readonly TouchedResource[];
  readonly pairs: readonly TouchedPair[];
  readonly untold: number;
  /** That were given something else. */
  readonly proxies: number;
}

export interface Moves extends MoveListener {
  /** Of moves since the graph had this version, and until it is called, those of the names that an object has a part in, before or after. */
  touchedBy(version: number, names: ReadonlySet<string>): Promise<Touched>;
  /** Nobody waits for what was noted of earlier versions of the graph. */
  forget(before: number): void;
  /** How many are noted; tests count with it. */
  readonly kept: number;
}

/** Of one change; the others are counted. */
const maxTouched = 20;
/** A mesh that goes on moving while a change waits. */
const maxMoves = 10_000;

/** Classes that share a set go to the next one together, and are looked at once. */
interface Step extends Pick<SetMove, "type" | "before" | "now"> {
  /** Who has gone it, and how many proxies these are. */
  readonly by: Map<object, number>;
}

export function createMoves(wants: () => boolean): Moves {
  /** By version, and then by the set before and the one after it: what is taken back gives the sets of before again. */
  const versions = new Map<number, Map<ResourceSet, Map<ResourceSet, Step>>>();
  let count = 0;
  return {
    wants,
    moved({ who, proxies, type, before, now, version }) {
      if (count >= maxMoves) return;
      const steps = versions.get(version) ?? new Map<ResourceSet, Map<ResourceSet, Step>>();
      versions.set(version, steps);
      const next = steps.get(before) ?? new Map<ResourceSet, Step>();
      steps.set(before, next);
      const step = next.get(now) ?? { type, before, now, by: new Map() };
      next.set(now, step);
      count += step.by.has(who) ? 0 : 1;
      step.by.set(who, proxies);
    },
    forget(before) {
      for (const [version, steps] of versions) {
        if (version >= before) continue;
        for (const { by } of stepsIn(steps)) count -= by.size;
        versions.delete(version);
      }
    },
    get kept() {
      return count;
    },
    async touchedBy(version, names) {
      const rest = createRest(8);
      const found = new Map<string, Found>();
      const ways = new Map<ResourceType, Map<object, Way>>();
      const proxies = new Map<object, number>();
      const since = [...versions].filter(([one]) => one >= version);
      for (const { type, before, now, by } of since.flatMap(([, steps]) => [...stepsIn(steps)])) {
        const differing: string[] = [];
        for (const name of names) {
          const pause = rest();
          if (pause) await pause;
          if (before.get(name)?.hash !== now.get(name)?.hash) differing.push(name);
        }
        const gone = ways.get(type) ?? new Map<object, Way>();
        ways.set(type, gone);
        for (const [seen, members] of Map.groupBy(by, ([who]) => gone.get(who) ?? noWay)) {
          // What came later is another change's.
          const fresh = differing.filter((name) => !seen.has(name));
          if (fresh.length === 0) continue;
          const way = seen.union(new Set(fresh));
          for (const [who, own] of members) {
            gone.set(who, way);
            proxies.set(who, own);
          }
          const own = members.reduce((sum, [, count]) => sum + count, 0);
          for (const name of fresh) {
            const pause = rest();
            if (pause) await pause;
            add(found, type, name, own, before.get(name), now.get(name));
          }
        }
      }
      const all = [...found.values()];
      const told = all.slice(0, maxTouched);
      return {
        resources: told.map(({ pair: _, ...resource }) => resource),
        pairs: told.map(({ pair }) => pair),
        untold: all.length - told.length,
        proxies: proxies.values().reduce((sum, one) => sum + one, 0),
      };
    },
  };
}

/** Names that differed in the steps that some have gone until now: one for all who have gone the same ones. */
type Way = ReadonlySet<string>;
const noWay: Way = new Set();

const stepsIn = (steps: ReadonlyMap<ResourceSet, ReadonlyMap<ResourceSet, Step>>): Iterable<Step> =>
  steps.values().flatMap((next) => next.values());

interface Found extends TouchedResource {
  readonly pair: TouchedPair;
}

function add(
  found: Map<string, Found>,
  type: ResourceType,
  name: string,
  proxies: number,
  before: Resource | undefined,
  after: Resource | undefined,
): void {
  const key = `${type} ${name}`;
  const known = found.get(key);
  const first = known ?? {
    ...{ type: shortName(type), name, proxies: 0 },
    act: !before ? ("added" as const) : after ? ("changed" as const) : ("removed" as const),
    pair: { type, ...(before ? { before } : {}), ...(after ? { after } : {}) },
  };
  found.set(key, { ...first, proxies: first.proxies + proxies });
}
