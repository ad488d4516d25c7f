/** The load assignments of a dump with endpoints and a filter in; a table or the assignments themselves out. */
import { EndpointsConfigDumpSchema } from "../../gen/envoy/admin/v3/config_dump_shared_pb.js";
import type { Locality } from "../../gen/envoy/config/core/v3/base_pb.js";
import { HealthStatus } from "../../gen/envoy/config/core/v3/health_check_pb.js";
import type { LbEndpoint } from "../../gen/envoy/config/endpoint/v3/endpoint_components_pb.js";
import {
  type ClusterLoadAssignment,
  ClusterLoadAssignmentSchema,
} from "../../gen/envoy/config/endpoint/v3/endpoint_pb.js";
import { FairleadError } from "../../lib/index.ts";
import { printTabs } from "../table.ts";
import { addressParts } from "./address.ts";
import { decodeIf } from "./any.ts";
import { clusterOrder } from "./cluster-key.ts";
import type { EnvoyDump } from "./dump.ts";
import type { EndpointFilter } from "./endpoint.ts";
import { lessBy, sortByLess } from "./order.ts";
import type { View } from "./view.ts";

export function viewAssignments(dump: EnvoyDump, filter: EndpointFilter): View {
  const assignments = assignmentsOf(dump, filter);
  return {
    short: (style) => {
      const rows = assignments.flatMap(({ clusterName, endpoints }) =>
        endpoints.flatMap(({ locality, lbEndpoints }) =>
          lbEndpoints.map((endpoint) => [
            `${style === "alone" ? "" : "endpoint/"}${addressesOf(endpoint).join(",")}`,
            HealthStatus[endpoint.healthStatus] ?? String(endpoint.healthStatus),
            localityText(locality),
            clusterName,
          ]),
        ),
      );
      return printTabs([["NAME", "STATUS", "LOCALITY", "CLUSTER"], ...rows], 5);
    },
    json: () => assignments.map((assignment) => dump.print(ClusterLoadAssignmentSchema, assignment)),
  };
}

/** A dump without endpoints (Envoy gives them only when asked) has none, and that is no mistake. */
function assignmentsOf(dump: EnvoyDump, filter: EndpointFilter): readonly ClusterLoadAssignment[] {
  let packed: readonly ClusterLoadAssignment[];
  try {
    const section = dump.section(EndpointsConfigDumpSchema);
    packed = [...section.dynamicEndpointConfigs, ...section.staticEndpointConfigs].flatMap(
      ({ endpointConfig }) => decodeIf(ClusterLoadAssignmentSchema, endpointConfig) ?? [],
    );
  } catch (error) {
    if (error instanceof FairleadError && error.code === "not-found") return [];
    throw error;
  }
  const kept = packed.filter((assignment) => keepMatching(assignment, filter) > 0);
  return sortByLess(
    kept,
    lessBy<ClusterLoadAssignment>(...clusterOrder.map((key) => (item: ClusterLoadAssignment) => key(item.clusterName))),
  );
}

/** Leaves only the wanted endpoints in the message, which is the reader's own copy; returns how many. */
function keepMatching(assignment: ClusterLoadAssignment, filter: EndpointFilter): number {
  let count = 0;
  for (const group of assignment.endpoints) {
    group.lbEndpoints = group.lbEndpoints.filter((endpoint) => matches(endpoint, assignment.clusterName, filter));
    count += group.lbEndpoints.length;
  }
  return count;
}

function matches(endpoint: LbEndpoint, cluster: string, filter: EndpointFilter): boolean {
  const among = (wanted: string | undefined, own: readonly string[]): boolean =>
    !wanted || own.some((text) => text.toLowerCase() === wanted.toLowerCase());
  const { hostIdentifier } = endpoint;
  const port = hostIdentifier.case === "endpoint" ? addressParts(hostIdentifier.value.address).port : 0;
  if (filter.port && port !== filter.port) return false;
  return (
    among(filter.address, addressesOf(endpoint)) &&
    among(filter.cluster, [cluster]) &&
    among(filter.status, [HealthStatus[endpoint.healthStatus] ?? ""])
  );
}

function addressesOf({ hostIdentifier }: LbEndpoint): readonly string[] {
  const host = hostIdentifier.case === "endpoint" ? hostIdentifier.value : undefined;
  const addresses = [host?.address, ...(host?.additionalAddresses ?? []).map(({ address }) => address)];
  return addresses.map((address) => {
    const { kind, text, port } = addressParts(address);
    return kind === "socket" ? `${text}:${port}` : text;
  });
}

function localityText(locality: Locality | undefined): string {
  if (!locality) return "";
  const { region, zone, subZone } = locality;
  if (zone === "") return region;
  return subZone === "" ? `${region}/${zone}` : `${region}/${zone}/${subZone}`;
}
