/** A cluster in; the same with the patches on it out; and the clusters that patches add. */

import { clone } from "@bufbuild/protobuf";
import { type Cluster, ClusterSchema } from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import type { TransportSocket } from "../../gen/envoy/config/core/v3/base_pb.js";
import { TransportSocketSchema } from "../../gen/envoy/config/core/v3/base_pb.js";
import { mergeAny, mergeInto } from "./merge.ts";
import { isMerge, type Patch } from "./patch.ts";
import { type Outcome, type PatchRun, valueOf } from "./patch-run.ts";

/** Changes the cluster in place; false where it is to go. `hosts`: services behind an inbound cluster. */
export function patchCluster(run: PatchRun, cluster: Cluster, hosts: readonly string[]): boolean {
  for (const ready of run.of("CLUSTER", ClusterSchema)) {
    const { patch, value } = ready;
    if (patch.operation === "ADD" || !matchesCluster(patch, cluster, hosts)) continue;
    if (patch.operation === "REMOVE") {
      run.apply(ready, () => true);
      return false;
    }
    if (isMerge(patch.operation) && value) run.apply(ready, () => mergeCluster(run, cluster, value, patch));
  }
  return true;
}

/** Clusters that are added where a proxy's own of this context are. */
export function addedClusters(run: PatchRun): readonly Cluster[] {
  return run.of("CLUSTER", ClusterSchema).flatMap((ready) => {
    const { patch } = ready;
    if (patch.operation !== "ADD" || (patch.context === "ANY" && run.context === "SIDECAR_INBOUND")) return [];
    run.apply(ready, () => true);
    return [valueOf(ready)];
  });
}

/** A patch with a transport socket does nothing but that: the socket merges as what it is, or replaces another. */
function mergeCluster(run: PatchRun, cluster: Cluster, value: Cluster, { operation }: Patch): Outcome {
  const wanted = value.transportSocket;
  if (!wanted) {
    mergeInto(ClusterSchema, cluster, value, operation === "MERGE" ? "append" : "replace");
    return true;
  }
  const own = socketToMerge(cluster, wanted.name);
  if (own === "none") return { error: `no transport socket match of the cluster is ${wanted.name}` };
  if (!own) {
    cluster.transportSocket = clone(TransportSocketSchema, wanted);
    return true;
  }
  if (own.configType.case !== "typedConfig" || wanted.configType.case !== "typedConfig") return false;
  const merged = mergeAny(run.registry, own.configType.value, wanted.configType.value);
  if ("error" in merged) return merged;
  own.configType = { case: "typedConfig", value: merged };
  return true;
}

/** Beside transport socket matches there is no place for a socket of its own. */
function socketToMerge(cluster: Cluster, name: string): TransportSocket | "none" | undefined {
  if (cluster.transportSocketMatches.length > 0) {
    const found = cluster.transportSocketMatches.find(({ transportSocket }) => transportSocket?.name === name);
    return found?.transportSocket ?? "none";
  }
  return cluster.transportSocket?.name === name ? cluster.transportSocket : undefined;
}

function matchesCluster({ match }: Patch, { name }: Cluster, hosts: readonly string[]): boolean {
  const wanted = match.cluster ?? {};
  if (wanted.name) return wanted.name === name;
  const parsed = parseName(name);
  const names = parsed.direction === "inbound" && hosts.length > 0 ? hosts : [parsed.host];
  return (
    (!wanted.subset || wanted.subset === parsed.subset) &&
    (!wanted.service || names.includes(wanted.service)) &&
    (!wanted.portNumber || wanted.portNumber === parsed.port)
  );
}

/** `direction|port|subset|host`, or the same with `_.`; other names have none of these. */
function parseName(name: string): { direction: string; port: number; subset: string; host: string } {
  const separator = /^(outbound|inbound)_\./.test(name) ? "_." : "|";
  const [direction = "", port = "", subset = "", ...host] = name.split(separator);
  const isName = name.includes(separator);
  return {
    direction: isName ? direction : "",
    port: /^\d+$/.test(port) ? Number(port) : 0,
    subset,
    host: host.length === 1 ? (host[0] ?? "") : "",
  };
}
