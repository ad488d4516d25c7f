/** A proxy's class in; the endpoints of all its EDS clusters, as it is to use them, out. */
import { ClusterLoadAssignmentSchema } from "../gen/envoy/config/endpoint/v3/endpoint_pb.js";
import { type BuildFacet, type PlacedFacet, type Resource, types } from "../model/index.ts";
import { clusterGroups } from "./endpoint/assignment.ts";
import { loadAssignment } from "./endpoint/load-assignment.ts";
import { buildFacet, ownFacet, placedFacet } from "./facets.ts";
import { sniDecisions } from "./gateway/sni.ts";
import type { ResourceKind } from "./kind.ts";
import { layerRecipe } from "./layer.ts";
import { outboundLayers } from "./outbound/layers.ts";
import { decidedTarget, isEds } from "./outbound/targets.ts";
import { encodePart, resourceOf } from "./part.ts";
import { resourceRecipe } from "./recipe.ts";
import type { View } from "./view.ts";

function assignment(view: View<BuildFacet>, key: string, place: PlacedFacet | undefined): Resource | undefined {
  const target = decidedTarget(view, key, place);
  if (!target || !isEds(target)) return undefined;
  const message = loadAssignment(target.name, clusterGroups(view, target));
  return resourceOf(target.name, encodePart(ClusterLoadAssignmentSchema, message));
}

const anywhere = resourceRecipe(buildFacet, types.endpoint, (view, key) => assignment(view, key, undefined));
const placed = resourceRecipe(placedFacet, types.endpoint, (view, key) => assignment(view, key, view.proxy));

const outboundEndpoints = outboundLayers({
  name: "endpoints",
  isMeant: ({ eds }) => eds,
  isNear: ({ near }) => near.endpoints,
  anywhere,
  placed,
});

const sniEndpoints = layerRecipe(
  ownFacet,
  "SNI endpoints",
  (view) =>
    new Map(sniDecisions(view).flatMap(({ name, key, eds }) => (eds ? [[name, placed.ref(view, key)] as const] : []))),
);

export const endpointKind: ResourceKind = {
  type: types.endpoint,
  steps: outboundEndpoints.steps,
  refs: (view) => [...outboundEndpoints.refs(view), ...(view.proxy.type === "router" ? [sniEndpoints.ref(view)] : [])],
};
