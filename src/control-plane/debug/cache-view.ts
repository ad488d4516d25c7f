/** Connected proxies in; which resources are kept for them, by type, and how large these are, out. */
import { createRest } from "../../lib/index.ts";
import { type Resource, type ResourceType, types } from "../../model/index.ts";
import { madeSet } from "../source/made-set.ts";
import type { ControlledSource } from "../source/resource-source.ts";

export const nothingToClear = "Nothing to clear: what is kept is made again when what it was made from changes.\n";

type Rendered = Pick<ControlledSource, "rendered">;

/** Each once, however many classes of proxies are sent it; a class and a type are a turn at most. */
async function* cached(
  resources: Rendered,
): AsyncGenerator<{ readonly type: ResourceType; readonly found: readonly Resource[] }> {
  const rest = createRest();
  const seen = new Set<Resource>();
  for (const type of Object.values(types))
    for (const { renderer } of resources.rendered()) {
      // Not as one map: that would be kept for as long as the class has the set.
      const all = madeSet(renderer, type)?.list() ?? [];
      const found = all.filter((resource) => !seen.has(resource));
      for (const resource of found) seen.add(resource);
      yield { type, found };
      // Here, as a class that goes meanwhile is not come to.
      await rest();
    }
}

export async function cacheNames(resources: Rendered): Promise<object> {
  const names = new Map<string, Set<string>>();
  for await (const { type, found } of cached(resources)) {
    const known = names.get(type) ?? new Set();
    for (const { name } of found) known.add(name);
    if (known.size > 0) names.set(type, known);
  }
  return Object.fromEntries([...names].map(([type, set]) => [type, [...set].sort()]));
}

export async function cacheSizes(resources: Rendered): Promise<object> {
  const sizes = new Map<string, number>();
  for await (const { type, found } of cached(resources))
    if (found.length > 0)
      sizes.set(
        type,
        found.reduce((sum, { size }) => sum + size, sizes.get(type) ?? 0),
      );
  const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  return Object.fromEntries([...sizes, ["total", total] as const].map(([name, bytes]) => [name, byteCount(bytes)]));
}

export interface KeptParts {
  /** By recipe: what is kept, and what the kept entries have looked up, which weighs about as much. */
  readonly recipes: Readonly<Record<string, { readonly entries: number; readonly lookups: number }>>;
  /** By type of resource. A piece that several resources share counts for the first of them alone. */
  readonly encodedBytes: Readonly<Record<string, number>>;
}

/** Worked out when it is asked for: nobody counts bytes while parts are made. */
export async function keptParts(resources: Rendered & Pick<ControlledSource, "parts">): Promise<KeptParts> {
  const seen = new Set<Uint8Array>();
  const encodedBytes: Record<string, number> = {};
  for await (const { type, found } of cached(resources))
    for (const piece of found.flatMap(({ pieces }) => pieces)) {
      if (seen.has(piece)) continue;
      seen.add(piece);
      encodedBytes[type] = (encodedBytes[type] ?? 0) + piece.length;
    }
  const recipes = [...resources.parts].map(([name, { entries, lookups }]) => [name, { entries, lookups }] as const);
  return { recipes: Object.fromEntries(recipes), encodedBytes };
}

/** As istiod writes sizes: in thousands, with one digit. */
function byteCount(bytes: number): string {
  if (bytes < 1000) return `${bytes}B`;
  const power = Math.min(4, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toFixed(1)}${["", "k", "M", "G", "T"][power]}B`;
}
