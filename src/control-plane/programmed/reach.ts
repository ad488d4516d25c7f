/** An object in; the resources that were made from it, and which of those a class of proxies is sent, out. */
import type { Collection, Graph } from "../../collections/index.ts";
import { envoyTypes, type KubeObject, type Resource, type ResourceSet, type ResourceType } from "../../model/index.ts";
import type { Renderer } from "../../render/index.ts";
import { madeSet } from "../source/made-set.ts";

/** By name; of one name there are as many as classes differ in it. */
export type Reach = ReadonlyMap<string, ReadonlySet<Resource>>;

/** All of it, in lists that objects may share. */
export type Made = readonly (readonly Resource[])[];

export interface ReachSources {
  readonly graph: Graph;
  readonly resources: { rendered(): Iterable<{ readonly renderer: Renderer }> };
}

/** In one go, so that all of it is of the same moment. */
export function reachOf(sources: ReachSources, kind: string, objects: Collection<KubeObject>, key: string): Reach {
  const steps = reachSteps(sources, kind, objects, key);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** The same in small pieces. */
export function reachSteps(
  { graph, resources }: ReachSources,
  kind: string,
  objects: Collection<KubeObject>,
  key: string,
): Generator<void, Reach> {
  return kind === "EnvoyFilter" ? patchedBy(resources.rendered(), key) : madeFrom(graph, objects, key);
}

/** It costs what a change of the object would make again, not what the mesh has. */
function* madeFrom(graph: Graph, objects: Collection<KubeObject>, key: string): Generator<void, Reach> {
  const found = new Map<string, Set<Resource>>();
  for (const value of graph.dependents(objects, key)) {
    for (const resource of resourcesIn(value)) add(found, resource);
    yield;
  }
  return found;
}

/** The same for many objects at one moment, each in one go: what many of them have a part in is looked for once. */
export function createMadeOf(
  graph: Pick<Graph, "sharedDependents">,
): (objects: Collection<KubeObject>, key: string) => Made {
  const listsOf = graph.sharedDependents();
  const known = new WeakMap<readonly unknown[], readonly Resource[]>();
  const resourcesOf = (values: readonly unknown[]): readonly Resource[] => {
    const found = known.get(values) ?? values.flatMap(resourcesIn);
    known.set(values, found);
    return found;
  };
  return (objects, key) => [...listsOf(objects, key)].map(resourcesOf).filter(({ length }) => length > 0);
}

export function reachFrom(made: Made): Reach {
  const found = new Map<string, Set<Resource>>();
  for (const resources of made) for (const resource of resources) add(found, resource);
  return found;
}

/** Memos keep all sorts of things. */
function resourcesIn(value: unknown): readonly Resource[] {
  if (isResource(value)) return [value];
  return Array.isArray(value) && isResource(value[0]) ? value.filter(isResource) : none;
}

const none: readonly Resource[] = [];

function add(found: Map<string, Set<Resource>>, resource: Resource): void {
  const known = found.get(resource.name) ?? new Set();
  found.set(resource.name, known);
  known.add(resource);
}

/**
 * Of an EnvoyFilter: patches are a last step over what was made, which no memo keeps one by one. Classes share layers of it,
 * and a layer is gone through once.
 */
function* patchedBy(rendered: Iterable<{ readonly renderer: Renderer }>, filter: string): Generator<void, Reach> {
  const object = `EnvoyFilter/${filter}`;
  const found = new Map<string, Set<Resource>>();
  const seen = new Set<ResourceSet["layers"][number]>();
  for (const { renderer } of rendered) {
    if (!renderer.proxy.envoyFilters.includes(filter)) continue;
    for (const layer of envoyTypes.flatMap((type) => madeSet(renderer, type)?.layers ?? [])) {
      if (seen.has(layer)) continue;
      seen.add(layer);
      yield;
      for (const resource of layer.values())
        if (renderer.patchesOf(resource).some((patch) => patch.object === object)) add(found, resource);
    }
  }
  return found;
}

function isResource(value: unknown): value is Resource {
  return typeof value === "object" && value !== null && "name" in value && "hash" in value && "pieces" in value;
}

export interface Part {
  readonly type: ResourceType;
  /** As it is wanted now. */
  readonly wanted: Resource;
}

/** Parts of classes, by the set that these share: what many classes have is looked at once. */
export type PartsOf = (renderer: Renderer) => readonly Part[];

export function createPartsOf(object: string, reach: Reach): PartsOf {
  const bySet = new WeakMap<ResourceSet, readonly Part[]>();
  return (renderer) =>
    envoyTypes.flatMap((type) => {
      if (renderer.proxy.envoyFilters.length > 0) return [...patchedParts(renderer, type, object, reach)];
      const set = madeSet(renderer, type);
      if (!set) return [];
      const known = bySet.get(set) ?? [...reachedParts(type, set, reach)];
      bySet.set(set, known);
      return known;
    });
}

function* reachedParts(type: ResourceType, set: ResourceSet, reach: Reach): Generator<Part> {
  for (const [name, made] of reach) {
    const wanted = set.get(name);
    if (wanted && made.has(wanted)) yield { type, wanted };
  }
}

/** What patches have changed is no longer what was made from the object, so that its causes are asked. */
function* patchedParts(renderer: Renderer, type: ResourceType, object: string, reach: Reach): Generator<Part> {
  const set = madeSet(renderer, type);
  for (const [name, made] of reach) {
    const wanted = set?.get(name);
    if (!wanted) continue;
    const isPatched = renderer.patchesOf(wanted).length > 0;
    if (made.has(wanted) || (isPatched && renderer.causes(type, name).some((cause) => cause.object === object)))
      yield { type, wanted };
  }
}
