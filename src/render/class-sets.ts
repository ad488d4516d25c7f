/**
 * Classes of proxies in; the set of resources that each has of a type out, kept up to date. Classes with the same layers
 * have one set between them: what changes in a layer is worked out once, and they are told.
 */
import type { Graph, Memo } from "../collections/index.ts";
import type { ResourceSet, ResourceType } from "../model/index.ts";
import type { ResourceKind } from "./kind.ts";
import type { Layer, LayerRef } from "./layer.ts";
import { createSets, type ResourceSets } from "./resource-sets.ts";
import type { RenderFault, View } from "./view.ts";

export interface ClassSetsOptions {
  kindOf(type: ResourceType): ResourceKind | undefined;
  readonly fault: (fault: RenderFault) => void;
}

/** A class, as the sets know it. */
export interface SetsMember {
  readonly view: View;
  /** Told when the set of a type may have changed. */
  invalidated(type: ResourceType): void;
}

export interface ClassSets {
  readonly sets: ResourceSets;
  join(id: string, member: SetsMember): void;
  leave(id: string): void;
  /** Throws where it cannot be made and never was. */
  get(id: string, type: ResourceType): ResourceSet;
  /** Whether another class has brought what both have of the type up to date, so that `get` makes nothing. */
  isFresh(id: string, type: ResourceType): boolean;
}

/** What the classes with the same layers have of a type. */
interface Shared {
  readonly key: string;
  readonly type: ResourceType;
  readonly refs: readonly LayerRef[];
  readonly members: Set<SetsMember>;
}

/** The layers by reference, or where patches made them the class's own, these. */
type Plan = readonly LayerRef[] | { readonly own: readonly Layer[] };

interface Joined {
  readonly member: SetsMember;
  /** By type, what was planned last and whom it is shared with. */
  readonly has: Map<ResourceType, Has>;
}

interface Has {
  /** Of the plan. Kept, as text that is put together anew is hashed anew: of each class, with each change. */
  readonly key: string;
  readonly plan: Plan;
  readonly shared: Shared | undefined;
}

export function createClassSets(graph: Graph, { kindOf, fault }: ClassSetsOptions): ClassSets {
  const sets = createSets();
  const joined = new Map<string, Joined>();
  const shared = new Map<string, Shared>();
  const memoIds = new Map<Memo<Layer>, number>();

  /** What is there cannot be told to be gone because of a fault of ours; a first fault is the caller's. */
  function lastOnFault<V extends object>(type: ResourceType, last: V | undefined, make: () => V): V {
    try {
      return make();
    } catch (error) {
      if (!last) throw error;
      fault({ type, name: "", error });
      return last;
    }
  }

  const plans = graph.memo<Plan>(
    "layers",
    (key, last) => {
      const [id, type] = split(key);
      const member = joined.get(id)?.member;
      const kind = kindOf(type);
      if (!member || !kind) return [];
      return lastOnFault(type, last, () => {
        const own = kind.patched?.(member.view);
        return own ? { own } : kind.refs(member.view);
      });
    },
    {
      equals: samePlan,
      onInvalidate(key) {
        const [id, type] = split(key);
        joined.get(id)?.member.invalidated(type);
      },
    },
  );

  const made = graph.memo<ResourceSet>(
    "shared layers",
    (key, last) => {
      const found = shared.get(key);
      if (!found) throw new Error("nobody has these layers");
      return lastOnFault(found.type, last, () => setOf(found.refs.map(({ memo, key: at }) => memo.get(at))));
    },
    {
      equals: Object.is,
      onInvalidate(key) {
        const found = shared.get(key);
        if (found) for (const member of found.members) member.invalidated(found.type);
      },
    },
  );

  const setOf = (layers: readonly Layer[]): ResourceSet => sets.of(layers.filter(({ size }) => size > 0));

  function idOf(memo: Memo<Layer>): number {
    const known = memoIds.get(memo);
    if (known !== undefined) return known;
    memoIds.set(memo, memoIds.size);
    return memoIds.size - 1;
  }

  function leaveShared(found: Shared | undefined, member: SetsMember): void {
    if (!found?.members.delete(member) || found.members.size > 0) return;
    shared.delete(found.key);
    made.drop(found.key);
  }

  function joinShared(member: SetsMember, type: ResourceType, refs: readonly LayerRef[]): Shared {
    const key = `${type} ${refs.map((ref) => `${idOf(ref.memo)}:${ref.key}`).join()}`;
    let found = shared.get(key);
    if (!found) {
      found = { key, type, refs, members: new Set() };
      shared.set(key, found);
    }
    found.members.add(member);
    return found;
  }

  /** Whom the class shares its plan with; undefined where it is its own. */
  function sharedBy({ member, has }: Joined, type: ResourceType, before: Has, plan: Plan): Shared | undefined {
    if (before.plan === plan) return before.shared;
    const now = "own" in plan ? undefined : joinShared(member, type, plan);
    has.set(type, { key: before.key, plan, shared: now });
    if (before.shared !== now) leaveShared(before.shared, member);
    return now;
  }

  function begin(id: string, type: ResourceType, { has }: Joined): Has {
    const begun: Has = { key: join(id, type), plan: [], shared: undefined };
    has.set(type, begun);
    return begun;
  }

  return {
    sets,
    join: (id, member) => void joined.set(id, { member, has: new Map() }),
    leave(id) {
      const left = joined.get(id);
      if (!left) return;
      for (const { key, shared: found } of left.has.values()) {
        leaveShared(found, left.member);
        plans.drop(key);
      }
      joined.delete(id);
    },
    isFresh(id, type) {
      const has = joined.get(id)?.has.get(type);
      return has?.shared !== undefined && plans.isFresh(has.key) && made.isFresh(has.shared.key);
    },
    get(id, type) {
      const of = joined.get(id);
      if (!of) throw new Error("the renderer was disposed of");
      // Known before it is made: what cannot be made leaves with the class too.
      const before = of.has.get(type) ?? begin(id, type, of);
      const plan = plans.get(before.key);
      const found = sharedBy(of, type, before, plan);
      return found ? made.get(found.key) : setOf("own" in plan ? plan.own : []);
    },
  };
}

function samePlan(a: Plan, b: Plan): boolean {
  if ("own" in a || "own" in b)
    return "own" in a && "own" in b && a.own.length === b.own.length && a.own.every((layer, i) => layer === b.own[i]);
  return a.length === b.length && a.every(({ memo, key }, i) => memo === b[i]?.memo && key === b[i]?.key);
}

const join = (id: string, type: ResourceType): string => `${id}|${type}`;

function split(key: string): readonly [id: string, type: ResourceType] {
  const at = key.indexOf("|");
  return [key.slice(0, at), key.slice(at + 1) as ResourceType];
}
