/** Connected proxies in; which resources are kept for them, by type, and how large these are, out. */
import { types } from "../../model/index.ts";
import type { Ads } from "../../xds/index.ts";
import type { ControlledSource } from "../resource-source.ts";

export const nothingToClear = "Nothing to clear: what is kept is made again when what it was made from changes.\n";

function cached(resources: ControlledSource, ads: Ads) {
  const renderers = new Set(ads.status().flatMap((proxy) => resources.rendererOf(proxy.node) ?? []));
  return Object.values(types).flatMap((type) =>
    [...renderers].flatMap((renderer) => [...renderer.all(type).entries()].map(([, resource]) => ({ type, resource }))),
  );
}

export function cacheNames(resources: ControlledSource, ads: Ads): object {
  const names = new Map<string, Set<string>>();
  for (const { type, resource } of cached(resources, ads))
    names.set(type, (names.get(type) ?? new Set()).add(resource.name));
  return Object.fromEntries([...names].map(([type, set]) => [type, [...set].sort()]));
}

/** A resource that many proxies are sent is there once. */
export function cacheSizes(resources: ControlledSource, ads: Ads): object {
  const seen = new Set<object>();
  const sizes = new Map<string, number>();
  for (const { type, resource } of cached(resources, ads)) {
    if (seen.has(resource)) continue;
    seen.add(resource);
    sizes.set(type, (sizes.get(type) ?? 0) + resource.size);
  }
  const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  return Object.fromEntries([...sizes, ["total", total] as const].map(([name, bytes]) => [name, byteCount(bytes)]));
}

/** As istiod writes sizes: in thousands, with one digit. */
function byteCount(bytes: number): string {
  if (bytes < 1000) return `${bytes}B`;
  const power = Math.min(4, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toFixed(1)}${["", "k", "M", "G", "T"][power]}B`;
}
