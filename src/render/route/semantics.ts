/** A VirtualService in; whose rules it was written for out: its own, or those of the Ingress or Gateway API object behind it. */
import type { ObjectMeta } from "../../model/index.ts";

export type RouteSemantics = "virtual-service" | "ingress" | "gateway-api";

const annotation = "internal.istio.io/route-semantics";

export const routeSemantics = (meta: ObjectMeta): RouteSemantics => semanticsOf(meta.annotations?.[annotation]);

/** From what the annotation says. */
export function semanticsOf(written: string | undefined): RouteSemantics {
  if (written === "ingress") return "ingress";
  return written === "gateway" ? "gateway-api" : "virtual-service";
}
