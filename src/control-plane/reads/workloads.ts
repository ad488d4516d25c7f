/** `namespace/workload` in; what its page shows out. */
import type { Looked, WorkloadDetail } from "../../read-api/index.ts";
import type { Stages } from "../stages.ts";
import type { Traffic } from "../traffic/index.ts";
import { policiesOf } from "./policies.ts";
import { ofWorkload, readSeen } from "./seen.ts";

/** `proxies` are those whose Pods are of it. */
export async function readWorkload(
  { registry, mesh }: Pick<Stages, "registry" | "mesh">,
  traffic: Pick<Traffic, "view" | "everywhere">,
  id: string,
  looked: Looked,
  proxies: readonly string[],
): Promise<WorkloadDetail | undefined> {
  const [namespace = ""] = id.split("/");
  const pod = podOf(registry, id);
  const seen = await readSeen(traffic, looked, ofWorkload(id));
  if (!pod && seen.callers.length + seen.calls.length + proxies.length === 0) return undefined;
  return {
    id,
    ...seen,
    policies: pod ? policiesOf(mesh, namespace, pod.labels) : [],
    services: pod ? [...new Set(registry.targets(pod).map(({ service }) => service))].sort() : [],
    proxies,
  };
}

/** Any: what selects one of a workload's Pods selects them all, as long as they are of one template. */
function podOf({ pods }: Stages["registry"], id: string) {
  const [namespace = "", workload] = id.split("/");
  for (const key of pods.keys()) {
    const pod = key.startsWith(`${namespace}/`) ? pods.get(key) : undefined;
    if (pod?.workload === workload) return pod;
  }
  return undefined;
}
