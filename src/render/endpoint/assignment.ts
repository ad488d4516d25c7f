/** What an outbound cluster stands for in; its endpoints in groups with weights and priorities, for this proxy, out. */
import type { BuildFacet } from "../../model/index.ts";
import { endpointPolicy, type OutboundTarget } from "../outbound/targets.ts";
import { localityPolicy, weighsLocalities } from "../traffic-policy/locality.ts";
import type { View } from "../view.ts";
import { groupByLocality, type LocalityGroup, placeGroups } from "./locality.ts";
import { clusterMembers } from "./members.ts";

export function clusterGroups(view: View<BuildFacet>, target: OutboundTarget): readonly LocalityGroup[] {
  // Endpoints that come with the cluster follow the cluster's policy, those sent apart their own.
  const policy = target.found === "eds" ? endpointPolicy(target) : target.effective.policy;
  const places = localityPolicy(view.mesh.settings(), policy.loadBalancer, target.service);
  const fails = policy.outlierDetection !== undefined;
  const groups = groupByLocality(clusterMembers(view, target), weighsLocalities(places, fails));
  const served = target.mode === "sni-dnat" ? groups.map(onlyMtls) : groups;
  // Without a place nothing depends on one.
  const { place } = target;
  return place ? placeGroups(served, places, { ...place, labels: place.placeLabels }, fails) : served;
}

/** A gateway that passes TLS through cannot tell what it carries, so it leads only to servers that demand mTLS. */
function onlyMtls(group: LocalityGroup): LocalityGroup {
  const members = group.members.filter(({ mtls, endpoint }) => mtls && endpoint.tlsMode === "istio");
  const weight = members.reduce((sum, member) => sum + member.weight, 0);
  return { ...group, members, weight: members.length > 0 ? weight : undefined };
}
