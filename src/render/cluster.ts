/** A cluster's name in, the Envoy cluster for this proxy, encoded, out. */
import { type Cluster, ClusterSchema } from "../gen/envoy/config/cluster/v3/cluster_pb.js";
import { types } from "../model/index.ts";
import { fixedClusters } from "./cluster-fixed.ts";
import { inboundTargets } from "./cluster-inbound.ts";
import { buildInbound } from "./cluster-inbound-build.ts";
import { inboundCluster, parseClusterName } from "./cluster-name.ts";
import { noteRule, outboundNames, outboundTarget } from "./cluster-outbound.ts";
import { buildSoundOutbound } from "./cluster-outbound-sound.ts";
import type { ResourceKind } from "./kind.ts";
import { encodePart, type View } from "./view.ts";

export const clusterKind: ResourceKind = {
  type: types.cluster,
  names(view) {
    const inbound = view.proxy.type === "sidecar" ? inboundTargets(view).map(({ port }) => inboundCluster(port)) : [];
    return [...new Set([...outboundNames(view).clusters, ...fixedClusters(view).keys(), ...inbound])];
  },
  render(view, name) {
    const cluster = buildCluster(view, name);
    if (!cluster) return undefined;
    // Envoy holds an EDS cluster back until its endpoints have come.
    const needs = cluster.edsClusterConfig ? [cluster.name] : [];
    return encodePart(ClusterSchema, cluster, needs);
  },
};

function buildCluster(view: View, name: string): Cluster | undefined {
  const fixed = fixedClusters(view).get(name);
  if (fixed) return fixed(view);
  const parsed = parseClusterName(name);
  if (parsed === undefined) return undefined;
  if (parsed.mode === "inbound") {
    const target = inboundTargets(view).find(({ port }) => port === parsed.port);
    return target && buildInbound(view, target);
  }
  const target = outboundTarget(view, parsed);
  if (!target) return undefined;
  noteRule(view, target);
  return buildSoundOutbound(view, target);
}
