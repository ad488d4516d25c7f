/** A config dump with endpoints in; the same endpoints in the form of Envoy's /clusters?format=json out. */
import { isRecord, readList, readRecord } from "../../lib/index.ts";

const sectionType = "type.googleapis.com/envoy.admin.v3.EndpointsConfigDump";

export function clustersOfDump(dump: unknown): unknown {
  const configs = isRecord(dump) ? readList(dump.configs).filter(isRecord) : [];
  const assignments = configs
    .filter((config) => config["@type"] === sectionType)
    .flatMap((config) => readList(config.dynamicEndpointConfigs).filter(isRecord))
    .map((entry) => readRecord(entry.endpointConfig));
  return {
    clusterStatuses: assignments.map((assignment) => ({
      name: assignment.clusterName,
      hostStatuses: readList(assignment.endpoints)
        .filter(isRecord)
        .flatMap((group) => readList(group.lbEndpoints).filter(isRecord))
        .map((endpoint) => ({
          address: readRecord(endpoint.endpoint).address,
          // Envoy, too, counts an endpoint of which nothing is said as healthy.
          healthStatus: { edsHealthStatus: endpoint.healthStatus ?? "HEALTHY" },
        })),
    })),
  };
}
