/** Two sets of resources in, what differs out; worked out once per pair, as many streams go from the same set to the same set. */
import type { Resource, ResourceSet } from "../../model/index.ts";

/** Resources' new state in a response, by name: undefined says that one is gone. */
export interface Changes {
  readonly size: number;
  has(name: string): boolean;
  get(name: string): Resource | undefined;
  keys(): Iterable<string>;
}

/** What leads from one set to the next. All streams that are in step are handed the same object. */
export interface Step {
  readonly changes: Changes;
  /** The same names as they were. */
  readonly before: Changes;
  readonly resources: readonly Resource[];
  readonly removed: readonly string[];
  /** Whether some of the resources name a cluster that they did not name before. */
  readonly needsMore: boolean;
}

export interface Steps {
  /** `names`, where given, has every name that may differ, and saves comparing the rest. */
  between(from: ResourceSet, to: ResourceSet, names?: ReadonlySet<string>): Step;
  /** What a version names that the one before it did not. */
  newNeeds(before: Resource | undefined, resource: Resource): readonly string[];
  /** Whether any resource of the set names this cluster. */
  isNeeded(set: ResourceSet, cluster: string): boolean;
  /** Whether these are the names of all resources of the set. */
  isAll(names: ReadonlySet<string>, set: ResourceSet): boolean;
  /** All resources of the set, as one list for all who send it whole. */
  whole(set: ResourceSet): readonly Resource[];
  /** So many names were looked at: what the cost of a push is judged by. */
  look(names: number): void;
  readonly looked: number;
}

type Layer = ReadonlyMap<string, Resource>;

export function createSteps(): Steps {
  const steps = new WeakMap<ResourceSet, WeakMap<ResourceSet, WeakMap<object, Step>>>();
  const all = new WeakMap<ReadonlySet<string>, WeakMap<ResourceSet, boolean>>();
  const layers = new WeakMap<Layer, WeakMap<Layer, readonly string[]>>();
  /** By the lists themselves, as many route configurations have the same. */
  const needs = new WeakMap<readonly string[], WeakMap<readonly string[], readonly string[]>>();
  const namedBy = new WeakMap<Layer, ReadonlySet<string>>();
  /** Held only by who sends it: a list for each class would weigh as much as all else that a class has of its own. */
  const wholes = new WeakMap<ResourceSet, WeakRef<readonly Resource[]>>();
  const firsts = new WeakMap<ResourceSet, Step>();
  let looked = 0;

  function* candidates(from: ResourceSet, to: ResourceSet): Generator<string> {
    for (let at = 0; at < Math.max(from.layers.length, to.layers.length); at++) {
      const [before, now] = [from.layers[at] ?? noLayer, to.layers[at] ?? noLayer];
      if (before !== now) yield* remembered(layers, before, now, () => differing(before, now));
    }
  }

  function differing(from: Layer, to: Layer): readonly string[] {
    looked += from.size + to.size;
    const names: string[] = [];
    for (const [name, resource] of to) if (from.get(name)?.hash !== resource.hash) names.push(name);
    for (const name of from.keys()) if (!to.has(name)) names.push(name);
    return names;
  }

  function newNeeds(before: Resource | undefined, resource: Resource): readonly string[] {
    if (!before || before.needs.length === 0) return resource.needs;
    if (before.needs === resource.needs) return [];
    return remembered(needs, before.needs, resource.needs, () => {
      const known = new Set(before.needs);
      return resource.needs.filter((name) => !known.has(name));
    });
  }

  function stepOf(from: ResourceSet, to: ResourceSet, names: ReadonlySet<string>): Step {
    const changes = new Map<string, Resource | undefined>();
    const before = new Map<string, Resource | undefined>();
    looked += names.size;
    for (const name of names) {
      const [was, is] = [from.get(name), to.get(name)];
      if (was?.hash === is?.hash) continue;
      changes.set(name, is);
      before.set(name, was);
    }
    const resources = [...changes.values()].filter((resource) => resource !== undefined);
    const removed = [...changes].filter(([, resource]) => !resource).map(([name]) => name);
    const needsMore = resources.some((resource) => newNeeds(before.get(resource.name), resource).length > 0);
    return { changes, before, resources, removed, needsMore };
  }

  function whole(set: ResourceSet): readonly Resource[] {
    const known = wholes.get(set)?.deref();
    if (known) return known;
    const list = set.list();
    wholes.set(set, new WeakRef(list));
    return list;
  }

  function first(to: ResourceSet): Step {
    let found = firsts.get(to);
    if (!found) {
      found = new FirstStep(to, whole);
      firsts.set(to, found);
    }
    return found;
  }

  return {
    between(from, to, names) {
      if (from === to) return noStep;
      if (from.layers.length === 0) return first(to);
      // By the names too: all streams of a class are handed the same ones, and one that is behind has its own.
      const byNames = remembered(steps, from, to, () => new WeakMap<object, Step>());
      let found = byNames.get(names ?? anyName);
      if (!found) {
        found = stepOf(from, to, names ?? new Set(candidates(from, to)));
        byNames.set(names ?? anyName, found);
      }
      return found;
    },
    isAll: (names, set) =>
      remembered(all, names, set, () => names.size === set.size && set.names().every((name) => names.has(name))),
    newNeeds,
    isNeeded: (set, cluster) =>
      set.layers.some((layer) => {
        const named = namedBy.get(layer) ?? new Set([...layer.values()].flatMap((resource) => resource.needs));
        namedBy.set(layer, named);
        return named.has(cluster);
      }),
    whole,
    look(names) {
      looked += names;
    },
    get looked() {
      return looked;
    },
  };
}

const noLayer: Layer = new Map();

/** Stands for names that are not known. */
const anyName = {};

const none: Changes = new Map();
const noNames: readonly string[] = [];

const noStep: Step = { changes: none, before: none, resources: [], removed: [], needsMore: false };

/**
 * To a client that has nothing, the set itself is the change: a copy for each class would weigh more than all else. A
 * class, as each class of proxies has one for every type.
 */
class FirstStep implements Step, Changes {
  readonly before = none;
  readonly removed = noNames;
  readonly needsMore = true;
  readonly #to: ResourceSet;
  readonly #whole: (set: ResourceSet) => readonly Resource[];

  constructor(to: ResourceSet, whole: (set: ResourceSet) => readonly Resource[]) {
    this.#to = to;
    this.#whole = whole;
  }

  get changes(): Changes {
    return this;
  }

  get resources(): readonly Resource[] {
    return this.#whole(this.#to);
  }

  get size(): number {
    return this.#to.size;
  }

  has(name: string): boolean {
    return this.#to.get(name) !== undefined;
  }

  get(name: string): Resource | undefined {
    return this.#to.get(name);
  }

  keys(): Iterable<string> {
    return this.#to.names();
  }
}

function remembered<K extends object, T extends object, V>(
  known: WeakMap<K, WeakMap<T, V>>,
  from: K,
  to: T,
  make: () => V,
): V {
  let byTarget = known.get(from);
  if (!byTarget) {
    byTarget = new WeakMap();
    known.set(from, byTarget);
  }
  const found = byTarget.get(to);
  if (found !== undefined) return found;
  const made = make();
  byTarget.set(to, made);
  return made;
}
