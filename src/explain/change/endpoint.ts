/** Endpoints of a cluster before and after in; who came, who went, in words, out. */
import { isDeepStrictEqual } from "node:util";
import type { LbEndpoint } from "../../gen/envoy/config/endpoint/v3/endpoint_components_pb.js";
import {
  type ClusterLoadAssignment,
  ClusterLoadAssignmentSchema,
} from "../../gen/envoy/config/endpoint/v3/endpoint_pb.js";
import type { Change, Pair } from "./change.ts";
import { parseClusterName } from "./cluster-name.ts";
import { decoded } from "./decoded.ts";

export function endpointChanges({ before, after }: Pair): readonly Change[] {
  const [old, now] = [decoded(ClusterLoadAssignmentSchema, before), decoded(ClusterLoadAssignmentSchema, after)];
  // With its cluster it comes and goes.
  if (!old || !now) return [];
  const [had, has] = [addressesOf(old), addressesOf(now)];
  const lost = had.difference(has).size;
  const gained = has.difference(had).size;
  const { subject, prefix } = wordsOf(now.clusterName);
  if (lost > 0 && has.size === 0)
    return [{ subject, text: `${prefix}no endpoint is left of ${had.size}`, risk: "lost-endpoint" }];
  if (lost > 0 && gained === 0)
    return [{ subject, text: `${prefix}${lost} of ${had.size} endpoints go`, risk: "lost-endpoint" }];
  if (lost > 0)
    return [{ subject, text: `${prefix}${lost} of ${had.size} endpoints go, ${gained} come`, risk: "lost-endpoint" }];
  if (gained > 0) return [{ subject, text: `${prefix}${gained} more ${noun(gained)} (${has.size} in all)` }];
  return isDeepStrictEqual(old, now)
    ? []
    : [{ subject, text: `${prefix}weights, localities or labels of endpoints change` }];
}

/** How many of a cluster's endpoints may be sent requests. */
export const endpointCount = (assignment: ClusterLoadAssignment): number => addressesOf(assignment).size;

const noun = (count: number): string => (count === 1 ? "endpoint" : "endpoints");

function wordsOf(cluster: string): { readonly subject: string; readonly prefix: string } {
  const parsed = parseClusterName(cluster);
  if (!parsed) return { subject: "", prefix: `${cluster}: ` };
  const { host, port, subset } = parsed;
  return { subject: host, prefix: `${subset === "" ? "" : `${subset}, `}port ${port}: ` };
}

const unusable: ReadonlySet<number> = new Set([2, 3, 4]);

function addressesOf({ endpoints }: ClusterLoadAssignment): ReadonlySet<string> {
  return new Set(
    endpoints.flatMap(({ lbEndpoints }) =>
      lbEndpoints.filter(({ healthStatus }) => !unusable.has(healthStatus)).map(addressOf),
    ),
  );
}

function addressOf({ hostIdentifier }: LbEndpoint): string {
  if (hostIdentifier.case !== "endpoint") return String(hostIdentifier.value ?? "");
  const address = hostIdentifier.value.address?.address;
  if (address?.case === "socketAddress")
    return `${address.value.address}:${String(address.value.portSpecifier.value ?? "")}`;
  return address?.case === "pipe" ? address.value.path : JSON.stringify(address?.value ?? "");
}
