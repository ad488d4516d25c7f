/** The name of a cluster in; its endpoints, as seen from where the gRPC client is, out. */
import { ClusterLoadAssignmentSchema } from "../../gen/envoy/config/endpoint/v3/endpoint_pb.js";
import { types } from "../../model/index.ts";
import { clusterGroups } from "../endpoint/assignment.ts";
import { loadAssignment } from "../endpoint/load-assignment.ts";
import { placedFacet } from "../facets.ts";
import { encodePart, resourceOf } from "../part.ts";
import { resourceRecipe } from "../recipe.ts";
import { edsTarget } from "./target.ts";

/** The key is a target's. */
export const grpcEndpoints = resourceRecipe(placedFacet, types.endpoint, (view, key) => {
  const target = edsTarget(view, key, view.proxy);
  if (!target) return undefined;
  const message = loadAssignment(target.name, clusterGroups(view, target));
  return resourceOf(target.name, encodePart(ClusterLoadAssignmentSchema, message));
});
