/** Workloads: those whose Pods are seen, without services that name something hidden. */
import type { WorkloadReads } from "../../../read-api/index.ts";
import { seenEffects } from "./effects.ts";
import type { Sight } from "./sight.ts";

export function visibleWorkloads(reads: WorkloadReads, sight: Sight): WorkloadReads {
  return {
    async workload(id, looked) {
      const sees = await sight.pods();
      const isSeen = sees(id.slice(0, id.indexOf("/")));
      const found = isSeen ? await reads.workload(id, { ...looked, sees }) : undefined;
      if (!found) return undefined;
      const names = await sight.hiddenNames();
      return {
        ...found,
        policies: await seenEffects(found.policies, sight),
        services: found.services.filter((service) => !names(service)),
      };
    },
  };
}
