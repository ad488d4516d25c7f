/** A proxy in; the part of the mesh that it can send to out. */
import type { MergedDestinationRule, Scope } from "../mesh/index.ts";
import type { View } from "./view.ts";

export function clientScope(view: View): Scope {
  const { type, namespace, labels } = view.proxy;
  return type === "router" ? view.mesh.gatewayScope(namespace) : view.mesh.scope(namespace, labels);
}

/** The rule for a service, looked up once for all that is made of it: names, cluster, endpoints, routes. */
export function ruleOf(view: View, service: string): MergedDestinationRule | undefined {
  return view.shared(`rule|${service}`, () => clientScope(view).destinationRule(service, view.proxy.labels));
}
