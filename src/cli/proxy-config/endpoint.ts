/** The text of Envoy's /clusters?format=json and a filter in; istioctl's table or the clusters' states out. */
import {
  ClusterStatusSchema,
  type Clusters,
  ClustersSchema,
  type HostStatus,
} from "../../gen/envoy/admin/v3/clusters_pb.js";
import { HealthStatus } from "../../gen/envoy/config/core/v3/health_check_pb.js";
import { FairleadError } from "../../lib/index.ts";
import { types } from "../../model/index.ts";
import { printTabs } from "../table.ts";
import { addressParts } from "./address.ts";
import { readDumpJson } from "./dump-json.ts";
import { lessBy, sortByLess } from "./order.ts";
import type { ProtoJson } from "./proto-json.ts";
import type { View, Why } from "./view.ts";

/** Texts are compared without regard to case. */
export interface EndpointFilter {
  readonly address?: string | undefined;
  readonly port?: number | undefined;
  readonly cluster?: string | undefined;
  readonly status?: string | undefined;
}

interface Host {
  readonly address: string;
  readonly port: number;
  readonly cluster: string;
  readonly status: string;
  readonly ejected: boolean;
}

export function viewEndpoints(text: string, filter: EndpointFilter, protos: ProtoJson, why?: Why): View {
  const { clusterStatuses } = readClusters(text, protos);
  const hosts = clusterStatuses.flatMap(({ name, hostStatuses }) => hostStatuses.map((host) => hostOf(name, host)));
  return {
    short: () => {
      const rows = sortByLess(
        hosts.filter((host) => matches(host, filter)),
        lessBy<Host>(
          (host) => host.address,
          (host) => host.port,
          (host) => host.cluster,
        ),
      ).map(({ address, port, status, ejected, cluster }) => [
        port === 0 ? address : `${address}:${port}`,
        status,
        ejected ? "FAILED" : "OK",
        cluster,
        ...(why ? [why.text(types.endpoint, cluster)] : []),
      ]);
      const header = ["ENDPOINT", "STATUS", "OUTLIER CHECK", "CLUSTER", ...(why ? ["WHY"] : [])];
      return printTabs([header, ...rows], 5);
    },
    // A cluster is shown whole as soon as one of its endpoints is asked for.
    json: () =>
      clusterStatuses
        .filter(({ name, hostStatuses }) => hostStatuses.some((host) => matches(hostOf(name, host), filter)))
        .map((cluster) => why?.data(types.endpoint, cluster.name) ?? protos.print(ClusterStatusSchema, cluster)),
  };
}

function readClusters(text: string, protos: ProtoJson): Clusters {
  const json = readDumpJson(text, "json");
  try {
    return protos.read(ClustersSchema, json);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new FairleadError("invalid", `error unmarshalling config dump response from Envoy: ${why}`, { cause });
  }
}

function hostOf(cluster: string, { address, healthStatus }: HostStatus): Host {
  const { kind, text, port } = addressParts(address);
  return {
    address: kind === "pipe" ? `unix://${text}` : text,
    port,
    cluster,
    status: HealthStatus[healthStatus?.edsHealthStatus ?? HealthStatus.UNKNOWN] ?? "",
    ejected: healthStatus?.failedOutlierCheck ?? false,
  };
}

function matches(host: Host, filter: EndpointFilter): boolean {
  const same = (own: string, wanted: string | undefined): boolean =>
    !wanted || own.toLowerCase() === wanted.toLowerCase();
  if (filter.port && host.port !== filter.port) return false;
  return same(host.address, filter.address) && same(host.cluster, filter.cluster) && same(host.status, filter.status);
}
