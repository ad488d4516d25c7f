/** A proxy in; what happens to its traffic to destinations that nobody declared out. */
import type { Destination } from "../../model/index.ts";
import { egressFacet } from "../facets.ts";
import { recipe } from "../recipe.ts";

export interface OutboundPolicy {
  readonly mode: "REGISTRY_ONLY" | "ALLOW_ANY" | "ALLOW_ANY_DYNAMIC_DNS";
  /** Where all such traffic goes instead of its own destination. */
  readonly egressProxy: Destination | undefined;
}

/** The Sidecar's policy replaces the mesh's as a whole: one without a mode means REGISTRY_ONLY. */
export const outboundPolicy = recipe(egressFacet, "outbound policy", ({ mesh, proxy }): OutboundPolicy => {
  const own = mesh.sidecar(proxy.sidecar)?.spec.outboundTrafficPolicy;
  if (own) return { mode: own.mode ?? "REGISTRY_ONLY", egressProxy: own.egressProxy };
  return { mode: mesh.settings().outboundTrafficPolicy?.mode ?? "REGISTRY_ONLY", egressProxy: undefined };
});
