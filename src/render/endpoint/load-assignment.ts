/** Groups of endpoints in, an Envoy load assignment out. */
import { create, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { HealthStatus } from "../../gen/envoy/config/core/v3/health_check_pb.js";
import {
  type LbEndpoint,
  LbEndpointSchema,
  type LocalityLbEndpointsSchema,
} from "../../gen/envoy/config/endpoint/v3/endpoint_components_pb.js";
import {
  type ClusterLoadAssignment,
  ClusterLoadAssignmentSchema,
} from "../../gen/envoy/config/endpoint/v3/endpoint_pb.js";
import { canonicalName, canonicalRevision, type Endpoint, type Health } from "../../model/index.ts";
import { address } from "../build/address.ts";
import type { LocalityGroup } from "./locality.ts";
import type { Member } from "./members.ts";

const statuses: Readonly<Record<Health, HealthStatus>> = {
  unknown: HealthStatus.UNKNOWN,
  healthy: HealthStatus.HEALTHY,
  unhealthy: HealthStatus.UNHEALTHY,
  draining: HealthStatus.DRAINING,
  terminating: HealthStatus.UNHEALTHY,
};

export function loadAssignment(clusterName: string, groups: readonly LocalityGroup[]): ClusterLoadAssignment {
  return create(ClusterLoadAssignmentSchema, { clusterName, endpoints: groups.map(localityEndpoints) });
}

/** One endpoint with nothing known of it: a workload's own port, or a socket beside it. */
export function singleEndpoint(clusterName: string, host: string, port: number): ClusterLoadAssignment {
  const endpoint = create(LbEndpointSchema, {
    hostIdentifier: { case: "endpoint", value: { address: address(host, port) } },
  });
  return create(ClusterLoadAssignmentSchema, { clusterName, endpoints: [{ lbEndpoints: [endpoint] }] });
}

function localityEndpoints(group: LocalityGroup): MessageInitShape<typeof LocalityLbEndpointsSchema> {
  return {
    locality: { region: group.locality.region, zone: group.locality.zone, subZone: group.locality.subZone },
    priority: group.priority,
    loadBalancingWeight: group.weight,
    lbEndpoints: group.members.map(lbEndpoint),
  };
}

function lbEndpoint(member: Member): LbEndpoint {
  const { endpoint, weight, health } = member;
  return create(LbEndpointSchema, {
    hostIdentifier: {
      case: "endpoint",
      value: { address: address(endpoint.addresses[0] ?? "", endpoint.port) },
    },
    healthStatus: statuses[health],
    loadBalancingWeight: weight,
    metadata: { filterMetadata: metadata(member) },
  });
}

/** `tlsMode` chooses the cluster's transport socket; `workload` names the server to telemetry before it has answered. */
function metadata({ endpoint, mtls }: Member): Record<string, JsonObject> {
  const socket = mtls && endpoint.tlsMode !== "" && endpoint.tlsMode !== "disabled";
  return {
    ...(socket ? { "envoy.transport_socket_match": { tlsMode: endpoint.tlsMode } } : {}),
    istio: { workload: workload(endpoint) },
  };
}

/** Name, namespace, canonical service, its revision (the default one left out), cluster. */
function workload({ workload: name, namespace, labels, cluster }: Endpoint): string {
  const revision = canonicalRevision(labels);
  return [name, namespace, canonicalName(labels, name), revision === "latest" ? "" : revision, cluster].join(";");
}
