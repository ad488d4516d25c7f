/** The hosts of an AUTO_PASSTHROUGH server in; a chain for every cluster that clients can name by SNI out. */
import { hostCovers, type Protocol, type ServerFacet } from "../../model/index.ts";
import { clientScope } from "../outbound/client-scope.ts";
import type { View } from "../view.ts";

/** R21: only services of the mesh, only by the exact name of their cluster, only over Istio's mTLS. */
export interface PassthroughChain {
  readonly kind: "passthrough";
  readonly service: string;
  readonly port: number;
  readonly protocol: Protocol;
  readonly subset: string;
}

export function autoPassthroughChains(view: View<ServerFacet>, hosts: readonly string[]): readonly PassthroughChain[] {
  const scope = clientScope(view);
  return scope.services.flatMap((key) => {
    const service = scope.table.service(key);
    if (!service || service.meshExternal || !hosts.some((host) => hostCovers(host, service.host))) return [];
    const ref = scope.table.ruleRef(key, view.proxy.labels);
    const rule = ref === undefined ? undefined : view.mesh.rule(ref);
    const subsets = ["", ...(rule?.spec.subsets ?? []).map(({ name }) => name ?? "")];
    return service.ports
      .filter(({ protocol }) => protocol !== "UDP")
      .flatMap(({ port, protocol }) =>
        subsets.map((subset) => ({ kind: "passthrough" as const, service: key, port, protocol, subset })),
      );
  });
}
