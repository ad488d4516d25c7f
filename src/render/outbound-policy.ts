/** A proxy in; what happens to its traffic to destinations that nobody declared out. */
import type { Destination } from "../model/index.ts";
import type { View } from "./view.ts";

export interface OutboundPolicy {
  readonly mode: "REGISTRY_ONLY" | "ALLOW_ANY" | "ALLOW_ANY_DYNAMIC_DNS";
  /** Where all such traffic goes instead of its own destination. */
  readonly egressProxy: Destination | undefined;
}

/** The Sidecar's policy replaces the mesh's as a whole: one without a mode means REGISTRY_ONLY. */
export function outboundPolicy(view: View): OutboundPolicy {
  return view.shared("outbound-policy", () => {
    const { namespace, labels, type } = view.proxy;
    const sidecar = type === "sidecar" ? view.mesh.scope(namespace, labels).sidecar : undefined;
    const own = sidecar?.spec.outboundTrafficPolicy;
    if (own) return { mode: own.mode ?? "REGISTRY_ONLY", egressProxy: own.egressProxy };
    return { mode: view.mesh.settings().outboundTrafficPolicy?.mode ?? "REGISTRY_ONLY", egressProxy: undefined };
  });
}
