/**
 * VirtualServices that route a host of another namespace for the whole mesh: R41. Istio lets every namespace do so; whoever
 * may write routes in one namespace can so take the traffic of another. Verdicts stay Istio's; this tells.
 */
import { virtualService } from "../../model/index.ts";
import type { Analyser } from "./analyser.ts";
import { fullHost, scopesOf } from "./hosts.ts";

export const foreignHosts: Analyser = {
  name: "fairlead.ForeignHostAnalyzer",
  needsCluster: true,
  run({ objects, mesh, report }) {
    const owners = new Map<string, string>();
    for (const { meta } of objects.kube("Service")) owners.set(fullHost(meta.namespace, meta.name), meta.namespace);
    for (const object of objects.of(virtualService)) {
      const { meta, spec } = object;
      const forMesh = (spec.gateways ?? []).length === 0 || spec.gateways?.includes("mesh");
      const scopes = scopesOf(spec.exportTo ?? [], meta.namespace);
      const leaves = scopes.some((scope) => scope !== meta.namespace);
      if (!forMesh || !leaves || meta.namespace === mesh.rootNamespace) continue;
      for (const [i, host] of (spec.hosts ?? []).entries()) {
        const owner = owners.get(fullHost(meta.namespace, host));
        if (owner === undefined || owner === meta.namespace) continue;
        report(
          object,
          "FLD0007",
          `${host} is a Service of namespace ${owner}, and this routes it for callers in other namespaces. Move it there, or set exportTo: ["."]. FAIRLEAD_OWN_HOSTS_ONLY=true keeps such routes out of the mesh.`,
          `spec.hosts[${i}]`,
        );
      }
    }
  },
};
