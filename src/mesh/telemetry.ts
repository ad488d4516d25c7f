/** Telemetry objects in, those that apply to a workload, in the order in which they override, out. */
import type { Config, TelemetrySpec } from "../model/index.ts";
import { type Labels, type PolicyLookup, selectorOf } from "./policy.ts";

type Telemetry = Config<TelemetrySpec>;

/** The oldest mesh-wide one, the oldest namespace-wide one, then those that select the workload or its Gateway. */
export function applicableTelemetries(
  lookup: PolicyLookup<TelemetrySpec>,
  root: string,
  namespace: string,
  labels: Labels,
): readonly Telemetry[] {
  const own = lookup([namespace], namespace, labels);
  const mesh = lookup([root], namespace, labels).find(isWide);
  const wide = namespace === root ? undefined : own.find(isWide);
  return [mesh, wide, ...own.filter((telemetry) => !isWide(telemetry))].filter((telemetry) => telemetry !== undefined);
}

function isWide({ spec }: Telemetry): boolean {
  return Object.keys(selectorOf(spec)).length === 0 && !spec.targetRef && !spec.targetRefs?.length;
}
