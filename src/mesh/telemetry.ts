/** Telemetry objects in, those that apply to a workload, in the order in which they override, out. */
import { isWide, type Labels, type PolicyHead, type PolicyLookup } from "./policy.ts";

/** The oldest mesh-wide one, the oldest namespace-wide one, then those that select the workload or its Gateway. */
export function applicableTelemetries(
  lookup: PolicyLookup,
  root: string,
  namespace: string,
  labels: Labels,
): readonly PolicyHead[] {
  const own = lookup([namespace], namespace, labels);
  const mesh = lookup([root], namespace, labels).find(isWide);
  const wide = namespace === root ? undefined : own.find(isWide);
  return [mesh, wide, ...own.filter((telemetry) => !isWide(telemetry))].filter((telemetry) => telemetry !== undefined);
}
