/** The name of a cluster as a gRPC client asks for it in; what it stands for out. */
import type { BuildFacet, ClientFacet, PlacedFacet } from "../../model/index.ts";
import { clientScope } from "../outbound/client-scope.ts";
import { parseClusterName } from "../outbound/cluster-name.ts";
import { decidedTarget, decidedTargets, type OutboundTarget, targetsKey } from "../outbound/targets.ts";
import type { View } from "../view.ts";

/** Its reference, for `edsTarget`; undefined for what the client does not see. */
export function targetKey(view: View<ClientFacet>, name: string): string | undefined {
  const parsed = parseClusterName(name);
  if (parsed?.mode !== "outbound") return undefined;
  const scope = clientScope(view);
  const service = scope.keyFor(parsed.host);
  if (service === undefined) return undefined;
  const ports = scope.table.portsLeft(service);
  const rule = scope.ruleRef(service, view.proxy.labels);
  const targets = decidedTargets(view, targetsKey({ mode: "outbound", service, ports, rule }));
  return targets.find((target) => target.name === name)?.key;
}

/** gRPC finds all endpoints over EDS, whatever the service's nature. */
export function edsTarget(
  view: View<BuildFacet>,
  key: string,
  place: PlacedFacet | undefined,
): OutboundTarget | undefined {
  const target = decidedTarget(view, key, place);
  return target && { ...target, found: "eds", passesThrough: false };
}
