/** A kind of resource and how it is patched in; the same kind, with resources changed, removed, renamed and added, out. */
import type { ResourceKind } from "../kind.ts";
import type { Part, View } from "../view.ts";
import type { Patch } from "./patch.ts";
import type { PatchContext } from "./patch-context.ts";
import { contextsOf, type Patcher } from "./patcher.ts";

/** Stands for a resource that there is none of: every real one has at least its name. */
const gone: Part = { bytes: new Uint8Array(), needs: [] };
const isGone = ({ bytes }: Part): boolean => bytes.length === 0;

export function patchedKind(context: PatchContext, base: ResourceKind, patcher: Patcher): ResourceKind {
  const { type } = base;

  /** One of the proxy's own resources, after its patches; these are read inside, or the part would not know of a change. */
  const patched = (view: View, name: string): Part =>
    view.part(`patched|${type}|${name}`, () => {
      const part = base.render(view, name);
      if (!part) return gone;
      const patches = context.patches(view, patcher.applyTo);
      return patcher.patch(context.run(view, patches, patcher.context(view, name)), name, part) ?? gone;
    });

  /** Names after the patches, with those before them. Only some patches can make a difference. */
  const ownNames = (view: View, patches: readonly Patch[]): ReadonlyMap<string, string> => {
    const names = base.names(view);
    if (!changesNames(patcher, patches)) return new Map(names.map((name) => [name, name]));
    const left = names.flatMap((name): [string, string][] => {
      const part = patched(view, name);
      return isGone(part) ? [] : [[patcher.nameOf(part), name]];
    });
    // Of two that come to have one name, the first is kept.
    return new Map(left.reverse());
  };

  const added = (view: View, patches: readonly Patch[]): ReadonlyMap<string, Part> => {
    const parts = contextsOf(view).flatMap((where) => patcher.added(context.run(view, patches, where)));
    return new Map(parts.map((part): [string, Part] => [patcher.nameOf(part), part]).reverse());
  };

  return {
    type,
    names(view) {
      const patches = context.patches(view, patcher.applyTo);
      if (patches.length === 0) return base.names(view);
      return [...new Set([...ownNames(view, patches).keys(), ...added(view, patches).keys()])];
    },
    render(view, name) {
      const patches = context.patches(view, patcher.applyTo);
      if (patches.length === 0) return base.render(view, name);
      const before = changesNames(patcher, patches) ? ownNames(view, patches).get(name) : name;
      const part = before === undefined ? gone : patched(view, before);
      return isGone(part) ? added(view, patches).get(name) : part;
    },
  };
}

function changesNames({ own }: Patcher, patches: readonly Patch[]): boolean {
  return patches.some(
    ({ applyTo, operation, value }) =>
      applyTo === own &&
      (operation === "REMOVE" || (operation !== "ADD" && value !== undefined && Object.hasOwn(value, "name"))),
  );
}
