/** An address in; the workload that has it out, where there is only one. */
import type { Collection } from "../collections/index.ts";
import type { Pod } from "./pod.ts";
import type { WorkloadFacts } from "./workload.ts";
import type { WorkloadInstance } from "./workload-instance.ts";

export interface WorkloadAtInputs {
  readonly pods: Collection<Pod>;
  podsAt(address: string): readonly string[];
  facts(podKey: string): WorkloadFacts;
  entriesAt(address: string): readonly WorkloadInstance[];
}

/** Pods on their node's network share its address, and a pod that has ended may leave its own to another: such an address names nobody. */
export function createWorkloadAt(inputs: WorkloadAtInputs): (address: string) => WorkloadFacts | undefined {
  return (address) => {
    const found = inputs.podsAt(address).flatMap((key) => {
      const pod = inputs.pods.get(key);
      return pod ? [{ usable: pod.usable, facts: inputs.facts(key) }] : [];
    });
    const usable = found.filter((pod) => pod.usable);
    const pods = (usable.length > 0 ? usable : found).map(({ facts }) => facts);
    return onlyOne(pods.length > 0 ? pods : inputs.entriesAt(address).map(({ facts }) => facts));
  };
}

function onlyOne(all: readonly WorkloadFacts[]): WorkloadFacts | undefined {
  const names = new Set(all.map(({ namespace, workload, identity }) => [namespace, workload, identity].join("|")));
  return names.size === 1 ? all[0] : undefined;
}
