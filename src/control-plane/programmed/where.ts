/** What classes have in; by resource, who has it, out. A layer that many classes share is gone through once. */
import { envoyTypes, type Resource, type ResourceSet, type ResourceType } from "../../model/index.ts";
import type { Crowd, Follows } from "./crowds.ts";
import type { Part } from "./reach.ts";

type Layer = ResourceSet["layers"][number];

/** A class, as far as it matters here. */
export interface Owner {
  /** In the order of `envoyTypes`. */
  readonly sets: readonly ResourceSet[];
  readonly crowds: readonly Crowd[];
}

/** How proxies are with some resources. */
export interface Standing {
  /** Crowds that follow some of them, and have these. */
  readonly having: ReadonlySet<Crowd>;
  /** What crowds have to be asked about. */
  readonly open: ReadonlyMap<Crowd, readonly Part[]>;
}

export interface Where {
  add(owner: Owner): void;
  /** For the same list it is put together once. */
  standing(resources: readonly Resource[]): Standing;
}

/** A layer, and whose sets it is a part of. */
interface Holders {
  /** Its type's place in `envoyTypes`. */
  readonly at: number;
  readonly type: ResourceType;
  readonly owners: Owner[];
  /** Of these names some owner has something else, by another layer. */
  readonly hidden: Set<string>;
  groups: readonly Group[] | undefined;
}

/** Crowds that follow the same of a layer; undefined for those that have to be asked. */
interface Group {
  readonly follows: Follows | undefined;
  readonly crowds: Crowd[];
}

const nowhere: readonly Holders[] = [];

export function createWhere(): Where {
  const byLayer = new Map<Layer, Holders>();
  const byResource = new Map<Resource, readonly Holders[]>();
  const known = new WeakMap<readonly Resource[], Standing>();

  const begin = (layer: Layer, type: ResourceType, at: number): Holders => {
    const holders: Holders = { at, type, owners: [], hidden: new Set(), groups: undefined };
    byLayer.set(layer, holders);
    for (const resource of layer.values()) {
      const others = byResource.get(resource);
      byResource.set(resource, others ? [...others, holders] : [holders]);
    }
    return holders;
  };

  return {
    add(owner) {
      for (const [at, type] of envoyTypes.entries()) {
        const layers = owner.sets[at]?.layers ?? [];
        for (const [i, layer] of layers.entries()) {
          const holders = byLayer.get(layer) ?? begin(layer, type, at);
          holders.owners.push(owner);
          for (const later of layers.slice(i + 1)) for (const name of common(layer, later)) holders.hidden.add(name);
        }
      }
    },
    standing(resources) {
      const found = known.get(resources) ?? standingOf(resources, (resource) => byResource.get(resource) ?? nowhere);
      known.set(resources, found);
      return found;
    },
  };
}

function* common(a: Layer, b: Layer): Generator<string> {
  const [small, large] = a.size < b.size ? [a, b] : [b, a];
  for (const name of small.keys()) if (large.has(name)) yield name;
}

function standingOf(resources: readonly Resource[], where: (resource: Resource) => readonly Holders[]): Standing {
  const groups = new Set<readonly Crowd[]>();
  const open = new Map<Crowd, Part[]>();
  for (const wanted of resources)
    for (const holders of where(wanted)) {
      const { name } = wanted;
      const part = { type: holders.type, wanted };
      for (const { follows, crowds } of holders.hidden.has(name) ? showing(holders, wanted) : groupsOf(holders)) {
        if (follows?.has(name)) groups.add(crowds);
        else for (const crowd of crowds) ask(open, crowd, part);
      }
    }
  // Of the same layer they are the same group, which is gone through once.
  const having = new Set<Crowd>();
  for (const crowds of groups) for (const crowd of crowds) having.add(crowd);
  return { having, open };
}

function groupsOf(holders: Holders): readonly Group[] {
  holders.groups ??= grouped(holders.owners, holders.at);
  return holders.groups;
}

/** Of those only that have this resource of its name. */
function showing({ owners, at }: Holders, wanted: Resource): readonly Group[] {
  return grouped(
    owners.filter(({ sets }) => sets[at]?.get(wanted.name) === wanted),
    at,
  );
}

function grouped(owners: readonly Owner[], at: number): readonly Group[] {
  const groups = new Map<Follows | undefined, Group>();
  for (const { crowds } of owners)
    for (const crowd of crowds) {
      const follows = crowd.follows?.[at];
      const known = groups.get(follows);
      if (known) known.crowds.push(crowd);
      else groups.set(follows, { follows, crowds: [crowd] });
    }
  return [...groups.values()];
}

function ask(open: Map<Crowd, Part[]>, crowd: Crowd, part: Part): void {
  const known = open.get(crowd);
  if (known) known.push(part);
  else open.set(crowd, [part]);
}
