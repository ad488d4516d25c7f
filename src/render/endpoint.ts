/** A cluster's name in, its endpoints as this proxy is to use them, encoded, out. */
import { ClusterLoadAssignmentSchema } from "../gen/envoy/config/endpoint/v3/endpoint_pb.js";
import { types } from "../model/index.ts";
import { loadAssignment } from "./build/endpoint.ts";
import { parseClusterName } from "./cluster-name.ts";
import { noteRule, outboundNames, outboundTarget } from "./cluster-outbound.ts";
import { clusterGroups } from "./endpoint-assignment.ts";
import type { ResourceKind } from "./kind.ts";
import { encodePart } from "./view.ts";

export const endpointKind: ResourceKind = {
  type: types.endpoint,
  names: (view) => outboundNames(view).endpoints,
  render(view, name) {
    const parsed = parseClusterName(name);
    if (parsed === undefined || parsed.mode === "inbound") return undefined;
    const target = outboundTarget(view, parsed);
    if (target?.discovery !== "eds") return undefined;
    noteRule(view, target);
    return encodePart(ClusterLoadAssignmentSchema, loadAssignment(name, clusterGroups(view, target)));
  },
};
