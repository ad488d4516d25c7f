/** A proxy's class in; all its clusters out: those of the services it sees, those that every proxy has, and its own. */
import { type Cluster, ClusterSchema } from "../gen/envoy/config/cluster/v3/cluster_pb.js";
import { type BuildFacet, type PlacedFacet, type Resource, types } from "../model/index.ts";
import { fixedClusters } from "./cluster/fixed.ts";
import { inboundTargets } from "./cluster/inbound.ts";
import { buildInbound } from "./cluster/inbound-build.ts";
import { buildSoundOutbound } from "./cluster/outbound-sound.ts";
import { buildFacet, egressFacet, ownFacet, placedFacet, serverFacet } from "./facets.ts";
import { sniDecisions } from "./gateway/sni.ts";
import type { ResourceKind } from "./kind.ts";
import { layerRecipe } from "./layer.ts";
import { inboundCluster, parseClusterName } from "./outbound/cluster-name.ts";
import { outboundLayers } from "./outbound/layers.ts";
import { decidedTarget } from "./outbound/targets.ts";
import { encodePart, resourceOf } from "./part.ts";
import { keyOf, resourceRecipe, wordsOf } from "./recipe.ts";
import type { View } from "./view.ts";

function outbound(view: View<BuildFacet>, key: string, place: PlacedFacet | undefined): Resource | undefined {
  const target = decidedTarget(view, key, place);
  const cluster = target && buildSoundOutbound(view, target);
  return cluster && resource(cluster);
}

/** Envoy holds an EDS cluster back until its endpoints have come. */
function resource(cluster: Cluster): Resource {
  const needs = cluster.edsClusterConfig ? [cluster.name] : [];
  return resourceOf(cluster.name, encodePart(ClusterSchema, cluster, needs));
}

const anywhere = resourceRecipe(buildFacet, types.cluster, (view, key) => outbound(view, key, undefined));
const placed = resourceRecipe(placedFacet, types.cluster, (view, key) => outbound(view, key, view.proxy));

const outboundClusters = outboundLayers({
  name: "clusters",
  isMeant: () => true,
  isNear: ({ near }) => near.cluster,
  anywhere,
  placed,
});

const fixed = resourceRecipe(egressFacet, types.cluster, (view, key) => {
  const build = fixedClusters(view).get(wordsOf(key)[0] ?? "");
  return build && resource(build(view));
});

const everyProxys = layerRecipe(
  egressFacet,
  "fixed clusters",
  (view) => new Map([...fixedClusters(view).keys()].map((name) => [name, fixed.ref(view, keyOf(name))])),
);

const inbound = resourceRecipe(serverFacet, types.cluster, (view, key) => {
  // Compared with thousands of ports where a service has as many.
  const named = parseClusterName(wordsOf(key)[0] ?? "");
  const target = inboundTargets(view).find(({ port }) => port === named?.port);
  const cluster = target && buildInbound(view, target);
  return cluster && resource(cluster);
});

const ownClusters = layerRecipe(
  serverFacet,
  "inbound clusters",
  (view) =>
    new Map(
      inboundTargets(view).map(({ port }) => [inboundCluster(port), inbound.ref(view, keyOf(inboundCluster(port)))]),
    ),
);

/** Behind an AUTO_PASSTHROUGH server. */
const sniClusters = layerRecipe(
  ownFacet,
  "SNI clusters",
  (view) => new Map(sniDecisions(view).map(({ name, key }) => [name, placed.ref(view, key)])),
);

export const clusterKind: ResourceKind = {
  type: types.cluster,
  steps: outboundClusters.steps,
  refs: (view) => [
    ...outboundClusters.refs(view),
    everyProxys.ref(view),
    view.proxy.type === "sidecar" ? ownClusters.ref(view) : sniClusters.ref(view),
  ],
};
