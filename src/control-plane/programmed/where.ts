/** What classes have in; by resource, who has it, out. A layer that many classes share is gone through once. */
import { emptyResourceSet, envoyTypes, type Resource, type ResourceSet, type ResourceType } from "../../model/index.ts";
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
  let size = 0;
  let looked = 0;
  let byResource: ReadonlyMap<Resource, readonly Holders[]> | undefined;
  const known = new WeakMap<readonly Resource[], Standing>();

  const begin = (layer: Layer, type: ResourceType, at: number): Holders => {
    const holders: Holders = { at, type, owners: [], hidden: new Set(), groups: undefined };
    byLayer.set(layer, holders);
    size += layer.size;
    byResource = undefined;
    return holders;
  };

  /** Few are asked for after one change: all layers are gone through for each, until an index of them would have cost less. */
  const holdersOf = (resource: Resource): readonly Holders[] => {
    looked += byLayer.size;
    if (looked > size) byResource ??= indexOf(byLayer);
    if (byResource) return byResource.get(resource) ?? nowhere;
    const found: Holders[] = [];
    for (const [layer, holders] of byLayer) if (layer.get(resource.name) === resource) found.push(holders);
    return found;
  };

  return {
    add(owner) {
      for (const [at, type] of envoyTypes.entries()) {
        const set = owner.sets[at] ?? emptyResourceSet;
        for (const [i, layer] of set.layers.entries()) {
          const holders = byLayer.get(layer) ?? begin(layer, type, at);
          holders.owners.push(owner);
          for (const name of set.hiddenIn(i)) holders.hidden.add(name);
        }
      }
    },
    standing(resources) {
      const found = known.get(resources) ?? standingOf(resources, holdersOf);
      known.set(resources, found);
      return found;
    },
  };
}

function indexOf(byLayer: ReadonlyMap<Layer, Holders>): ReadonlyMap<Resource, readonly Holders[]> {
  const found = new Map<Resource, Holders[]>();
  for (const [layer, holders] of byLayer)
    for (const resource of layer.values()) {
      const others = found.get(resource);
      if (others) others.push(holders);
      else found.set(resource, [holders]);
    }
  return found;
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
