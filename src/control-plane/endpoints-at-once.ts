/** Watched objects in; where endpoints change, what is due for proxies is pushed without waiting for a quiet time. */
import type { Collection } from "../collections/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { ControlledSource } from "./source/resource-source.ts";

/** What endpoints are made of and nothing else; a Service or a policy is debounced as ever. */
const kinds = [
  ["discovery.k8s.io", "EndpointSlice"],
  ["networking.istio.io", "WorkloadEntry"],
] as const;

export function pushEndpointsAtOnce(
  objects: (group: string, kind: string) => Collection<KubeObject>,
  source: Pick<ControlledSource, "push">,
): void {
  let isDue = false;
  // All that one event of the API brings is one push.
  const push = (): void => {
    isDue = false;
    // What fails in it is told there.
    void source.push();
  };
  for (const [group, kind] of kinds)
    objects(group, kind).subscribe(() => {
      if (!isDue) setImmediate(push);
      isDue = true;
    });
}
