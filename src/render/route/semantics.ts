/** A VirtualService in; whose rules it was written for out: its own, or those of the Ingress or Gateway API object behind it. */
import type { ObjectMeta } from "../../model/index.ts";

export type RouteSemantics = "virtual-service" | "ingress" | "gateway-api";

const annotation = "internal.istio.io/route-semantics";

export function routeSemantics(meta: ObjectMeta): RouteSemantics {
  const written = meta.annotations?.[annotation];
  if (written === "ingress") return "ingress";
  return written === "gateway" ? "gateway-api" : "virtual-service";
}
