/** A kind of resource and how it is patched in; the same kind, with resources changed, removed, renamed and added, out. */
import type { Resource } from "../../model/index.ts";
import { layersOf, type ResourceKind } from "../kind.ts";
import type { Layer } from "../layer.ts";
import type { View } from "../view.ts";
import { isMerge, type Patch } from "./patch.ts";
import type { PatchContext } from "./patch-context.ts";
import { contextsOf, type Patcher } from "./patcher.ts";

export function patchedKind(context: PatchContext, base: ResourceKind, patcher: Patcher): ResourceKind {
  const patchesOf = (view: View): readonly Patch[] => context.patches(view, patcher.applyTo);
  // A layer never changes, and all who share it and have the same patches share what comes out of it.
  const known = new WeakMap<Layer, WeakMap<readonly Patch[], Layer>>();

  const patchedLayer = (view: View, patches: readonly Patch[], layer: Layer): Layer => {
    const byPatches = known.get(layer) ?? new WeakMap<readonly Patch[], Layer>();
    known.set(layer, byPatches);
    const found = isShared(view, layer) ? byPatches.get(patches) : undefined;
    if (found) return found;
    const made = new Map<string, Resource>();
    for (const resource of layer.values()) {
      const now = context.patched(patcher, view, patches, resource);
      // Of two that come to have one name, the first is kept.
      if (now && !made.has(now.name)) made.set(now.name, now);
    }
    byPatches.set(patches, made);
    return made;
  };

  const added = (view: View, patches: readonly Patch[]): Layer => {
    // One by one, so that each knows the patch that made it.
    const resources = contextsOf(view).flatMap((where) =>
      patches.flatMap((patch) => context.made(view, { all: patches, meant: [patch] }, where, patcher.added)),
    );
    return new Map(resources.map((resource): [string, Resource] => [resource.name, resource]).reverse());
  };

  return {
    type: base.type,
    refs: base.refs,
    patched(view) {
      const patches = patchesOf(view);
      if (patches.length === 0) return undefined;
      const layers = layersOf(base, view);
      // What is removed from a later layer must not come forth in an earlier one.
      const moves = patches.some((patch) => isRename(patcher, patch) || isRemoval(patcher, patch));
      const own = moves ? [flat(layers)] : layers;
      return [added(view, patches), ...own.map((layer) => patchedLayer(view, patches, layer))];
    },
    *steps(view) {
      if (base.steps) yield* base.steps(view);
      const patches = patchesOf(view);
      if (patches.length === 0) return;
      for (const layer of layersOf(base, view)) {
        if (isShared(view, layer) && known.get(layer)?.has(patches)) continue;
        for (const resource of layer.values()) {
          context.patched(patcher, view, patches, resource);
          yield;
        }
      }
    },
    ...(base.render
      ? {
          render(view: View, name: string) {
            const resource = base.render?.(view, name);
            const patches = patchesOf(view);
            return resource && patches.length > 0 ? context.patched(patcher, view, patches, resource) : resource;
          },
        }
      : {}),
  };
}

/** Patches on inbound clusters and on gateways' routes depend on more than the resource. */
function isShared({ proxy }: View, layer: Layer): boolean {
  if (proxy.type === "router") return false;
  for (const name of layer.keys()) if (name.startsWith("inbound|")) return false;
  return true;
}

export function flat(layers: readonly Layer[]): Layer {
  return new Map(layers.flatMap((layer) => [...layer]));
}

function isRename({ own }: Patcher, { applyTo, operation, value }: Patch): boolean {
  return applyTo === own && isMerge(operation) && value !== undefined && Object.hasOwn(value, "name");
}

const isRemoval = ({ own }: Patcher, { applyTo, operation }: Patch): boolean =>
  applyTo === own && operation === "REMOVE";
