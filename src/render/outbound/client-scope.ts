/** A proxy in; the part of the mesh that it can send to out. */
import type { MergedDestinationRule, Scope } from "../../mesh/index.ts";
import type { ClientFacet } from "../../model/index.ts";
import type { View } from "../view.ts";

export function clientScope({ proxy, mesh }: View<ClientFacet>): Scope {
  return proxy.type === "router"
    ? mesh.gatewayScope(proxy.namespace)
    : mesh.sidecarScope(proxy.namespace, proxy.sidecar);
}

/** The rule for a service, as this client sees it. */
export function ruleOf(view: View<ClientFacet>, service: string): MergedDestinationRule | undefined {
  return clientScope(view).destinationRule(service, view.proxy.labels);
}
