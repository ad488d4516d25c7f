/** Telemetry objects of namespaces in; those that may apply to workloads of one, in the order in which they override, out. */
import { isWide, type PolicyHead } from "./policy.ts";

/** The oldest mesh-wide one, the oldest namespace-wide one, then those that select workloads or Gateways. */
export function candidateTelemetries(
  list: (namespace: string) => readonly PolicyHead[],
  namespace: string,
  root: string,
): readonly PolicyHead[] {
  // In the root namespace they are the same one.
  const wide = [...new Set([root, namespace])].flatMap((one) => list(one).find(isWide) ?? []);
  return [...wide, ...list(namespace).filter((telemetry) => !isWide(telemetry))];
}
