/** Which resources a facet has, by reference, in; the same as a map of resources, made once for all classes with that facet, out. */
import type { Resource } from "../model/index.ts";
import type { FacetKind } from "./facet.ts";
import { isMade, memberRecipe, type Recipe, type Ref, type ResourceRef, recipe } from "./recipe.ts";
import type { View } from "./view.ts";

/** Part of a set of resources, shared by all classes for which it is the same. Never changed. */
export type Layer = ReadonlyMap<string, Resource>;

export type LayerRef = Ref<Layer>;

export type Refs = ReadonlyMap<string, ResourceRef>;

export interface LayerRecipe<F extends object> extends Recipe<F, Layer> {
  /** Makes what the layer is made of, one after the other, so that a long making can be interrupted. */
  steps(view: View<F>): Steps;
}

/** Each step is a small piece of work that need not be done again when the whole is asked for. */
export type Steps = Generator<void>;

/** One step, where there is anything to make. */
export function* step(ref: Ref<unknown>): Steps {
  if (isMade(ref)) return;
  ref.memo.get(ref.key);
  yield;
}

export function layerRecipe<F extends object>(
  facet: FacetKind<F>,
  name: string,
  decide: (view: View<F>) => Refs,
): LayerRecipe<F> {
  const refs = recipe(facet, `${name} refs`, decide, sameRefs);
  const layer = recipe<F, Layer>(facet, name, (view) => madeOf(refs(view)), sameLayer);
  return Object.assign((view: View<F>) => layer(view), {
    ref: layer.ref,
    *steps(view: View<F>): Steps {
      const whole = layer.ref(view);
      if (isMade(whole)) return;
      for (const ref of refs(view).values()) {
        if (isMade(ref)) continue;
        ref.memo.get(ref.key);
        yield;
        // Another class has come to the end meanwhile.
        if (isMade(whole)) return;
      }
      layer(view);
    },
  });
}

/** The same where the resources follow from a list, such as that of all services, member by member. */
export function memberLayer<F extends object>(
  facet: FacetKind<F>,
  name: string,
  list: (view: View<F>) => readonly string[],
  resources: (view: View<F>, member: string) => readonly Resource[],
): LayerRecipe<F> {
  return memberRecipe<F, readonly Resource[], Layer>(facet, name, {
    list,
    each(view, member) {
      const found = resources(view, member);
      return found.length > 0 ? found : undefined;
    },
    whole(members) {
      const layer = new Map<string, Resource>();
      for (const found of members.values()) for (const resource of found) layer.set(resource.name, resource);
      return layer;
    },
    equals: (a, b) => a.length === b.length && a.every((resource, i) => resource === b[i]),
  });
}

/** The same where each member is the key of one resource. */
export function keyedLayer<F extends object>(
  facet: FacetKind<F>,
  name: string,
  keys: (view: View<F>) => readonly string[],
  resource: (view: View<F>, key: string) => Resource | undefined,
): LayerRecipe<F> {
  return memberLayer(facet, name, keys, (view, key) => {
    const found = resource(view, key);
    return found ? [found] : [];
  });
}

function madeOf(refs: Refs): Layer {
  const made = new Map<string, Resource>();
  for (const [name, { memo, key }] of refs) {
    const found = memo.get(key);
    if (found) made.set(name, found);
  }
  return made;
}

function sameRefs(a: Refs, b: Refs): boolean {
  if (a.size !== b.size) return false;
  for (const [name, { memo, key }] of a) {
    const other = b.get(name);
    if (other?.key !== key || other.memo !== memo) return false;
  }
  return true;
}

function sameLayer(a: Layer, b: Layer): boolean {
  if (a.size !== b.size) return false;
  for (const [name, resource] of a) if (b.get(name) !== resource) return false;
  return true;
}
