/** A kind of resource and how it is patched in; the same kind, with resources changed, removed, renamed and added, out. */
import type { ResourceKind } from "../kind.ts";
import type { Part, View } from "../view.ts";
import { isMerge, type Patch } from "./patch.ts";
import type { PatchContext } from "./patch-context.ts";
import { contextsOf, type Patcher } from "./patcher.ts";

/** Stands for a resource that there is none of: every real one has at least its name. */
const gone: Part = { bytes: new Uint8Array(), needs: [] };
const isGone = ({ bytes }: Part): boolean => bytes.length === 0;

export function patchedKind(context: PatchContext, base: ResourceKind, patcher: Patcher): ResourceKind {
  const { type } = base;
  const patchesOf = (view: View): readonly Patch[] => context.patches(view, patcher.applyTo);

  /** One of the proxy's own resources, after its patches. They are read inside, or the part would not know of a change. */
  const patched = (view: View, name: string): Part =>
    view.part(`patched|${type}|${name}`, () => {
      const part = base.render(view, name);
      if (!part) return gone;
      const where = patcher.context(view, name);
      const reaching = patchesOf(view).filter((patch) => patcher.reaches(patch, where));
      // What no patch can reach is not even looked at.
      return reaching.length === 0 ? part : (patcher.patch(context.run(view, reaching, where), name, part) ?? gone);
    });

  /** Names of what is left after the patches, with those before them. */
  const ownNames = (view: View): ReadonlyMap<string, string> =>
    view.shared(`patched|names|${type}`, () => {
      const renames = patchesOf(view).some((patch) => isRename(patcher, patch));
      const left = base.names(view).flatMap((name): [string, string][] => {
        const part = patched(view, name);
        return isGone(part) ? [] : [[renames ? patcher.nameOf(part) : name, name]];
      });
      // Of two that come to have one name, the first is kept.
      return new Map(left.reverse());
    });

  const added = (view: View): ReadonlyMap<string, Part> => {
    const parts = contextsOf(view).flatMap((where) => patcher.added(context.run(view, patchesOf(view), where)));
    return new Map(parts.map((part): [string, Part] => [patcher.nameOf(part), part]).reverse());
  };

  return {
    type,
    names(view) {
      const patches = patchesOf(view);
      if (patches.length === 0) return base.names(view);
      const moves = patches.some((patch) => isRename(patcher, patch) || isRemoval(patcher, patch));
      return [...new Set([...(moves ? ownNames(view).keys() : base.names(view)), ...added(view).keys()])];
    },
    render(view, name) {
      const patches = patchesOf(view);
      if (patches.length === 0) return base.render(view, name);
      const renames = patches.some((patch) => isRename(patcher, patch));
      const before = renames ? ownNames(view).get(name) : name;
      const part = before === undefined ? gone : patched(view, before);
      return isGone(part) ? added(view).get(name) : part;
    },
  };
}

function isRename({ own }: Patcher, { applyTo, operation, value }: Patch): boolean {
  return applyTo === own && isMerge(operation) && value !== undefined && Object.hasOwn(value, "name");
}

const isRemoval = ({ own }: Patcher, { applyTo, operation }: Patch): boolean =>
  applyTo === own && operation === "REMOVE";
