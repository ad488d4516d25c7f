/** A proxy in; the part of the mesh that it can send to out. */
import type { Scope } from "../mesh/index.ts";
import type { View } from "./view.ts";

export function clientScope(view: View): Scope {
  const { type, namespace, labels } = view.proxy;
  return type === "router" ? view.mesh.gatewayScope(namespace) : view.mesh.scope(namespace, labels);
}
