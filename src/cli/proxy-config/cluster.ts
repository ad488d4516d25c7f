/** A dump's clusters and a filter in; istioctl's table or the clusters themselves out. */
import { ClustersConfigDumpSchema } from "../../gen/envoy/admin/v3/config_dump_shared_pb.js";
import { type Cluster, Cluster_DiscoveryType, ClusterSchema } from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import { FairleadError } from "../../lib/index.ts";
import { types } from "../../model/index.ts";
import { printTabs } from "../table.ts";
import { decodeAs } from "./any.ts";
import { clusterOrder, parseClusterKey } from "./cluster-key.ts";
import type { EnvoyDump } from "./dump.ts";
import { lessBy, sortByLess } from "./order.ts";
import { describeOrigin } from "./origin.ts";
import type { Cells, Style, View, Why } from "./view.ts";

/** All are looked for as a part of the cluster's name. */
export interface ClusterFilter {
  readonly fqdn?: string | undefined;
  readonly port?: number | undefined;
  readonly subset?: string | undefined;
  readonly direction?: string | undefined;
}

const columns: Cells = ["SERVICE FQDN", "PORT", "SUBSET", "DIRECTION", "TYPE", "DESTINATION RULE"];

export function viewClusters(dump: EnvoyDump, filter: ClusterFilter, why?: Why): View {
  const found = (): readonly Cluster[] => clustersOf(dump).filter((cluster) => matches(cluster, filter));
  return {
    short: (style) => {
      const header = style === "alone" ? columns : ["NAME", ...columns];
      const rows = found().map((cluster) => [
        ...row(cluster, style),
        ...(why ? [why.text(types.cluster, cluster.name)] : []),
      ]);
      return printTabs([[...header, ...(why ? ["WHY"] : [])], ...rows], 5);
    },
    json: () => found().map((cluster) => why?.data(types.cluster, cluster.name) ?? dump.print(ClusterSchema, cluster)),
  };
}

function clustersOf(dump: EnvoyDump): readonly Cluster[] {
  const section = dump.section(ClustersConfigDumpSchema);
  const clusters = [...section.dynamicActiveClusters, ...section.staticClusters].flatMap(({ cluster }) =>
    cluster ? [decodeAs(ClusterSchema, cluster)] : [],
  );
  if (clusters.length === 0) throw new FairleadError("not-found", "no clusters found");
  return sortByLess(clusters, lessBy<Cluster>(...clusterOrder.map((key) => (cluster: Cluster) => key(cluster.name))));
}

function matches({ name }: Cluster, filter: ClusterFilter): boolean {
  const port = filter.port ? `|${filter.port}|` : "";
  return [filter.fqdn, filter.direction, filter.subset, port].every((part) => name.includes(part ?? ""));
}

function row(cluster: Cluster, style: Style): Cells {
  const key = parseClusterKey(cluster.name);
  const { clusterDiscoveryType: kind } = cluster;
  const type = kind.case === "type" ? kind.value : Cluster_DiscoveryType.STATIC;
  const rest = [Cluster_DiscoveryType[type] ?? String(type), describeOrigin(cluster.metadata)];
  // A nameless cluster has no name column, not even an empty one.
  const named = style === "among-others" && (key || cluster.name !== "");
  const name = named ? `cluster/${cluster.name}` : cluster.name;
  const middle = key ? [key.host, String(key.port), key.subset || "-", key.direction] : [name, "-", "-", "-"];
  return [...(named ? [name] : []), ...middle, ...rest];
}
