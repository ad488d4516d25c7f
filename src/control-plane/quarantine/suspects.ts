/** A resource that a proxy refuses in; the EnvoyFilters that may be why, with the field of each, out. */
import { sameData } from "../../collections/index.ts";
import type { Resource } from "../../model/index.ts";
import type { Renderer } from "../../render/index.ts";

/** By `namespace/name`. */
export type Suspects = ReadonlyMap<string, string>;

/** What the proxy took before, in the version that it has, is not why it refuses this one. */
export function suspectsOf(
  renderer: Pick<Renderer, "patchesOf">,
  wanted: Resource,
  accepted: Resource | undefined,
): Suspects {
  // Of what it has from an earlier stream only the name is known.
  const taken = accepted && accepted.size > 0 ? renderer.patchesOf(accepted) : [];
  const found = new Map<string, string>();
  for (const { object, field, patch } of renderer.patchesOf(wanted)) {
    const filter = object.slice(object.indexOf("/") + 1);
    if (found.has(filter) || taken.some((one) => one.object === object && sameData(one.patch, patch))) continue;
    found.set(filter, field);
  }
  return found;
}
