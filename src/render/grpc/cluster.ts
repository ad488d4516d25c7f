/** The name of a cluster in; the cluster as gRPC clients understand it out: endpoints over EDS, mTLS, balancing, one limit. */
import { create } from "@bufbuild/protobuf";
import { type Cluster, Cluster_LbPolicy, ClusterSchema } from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import { type BuildFacet, type ConnectionPoolSettings, type LoadBalancerSettings, types } from "../../model/index.ts";
import { brokenConstraint } from "../build/constraints.ts";
import { edsDiscovery } from "../build/discovery.ts";
import type { Fields } from "../build/fields.ts";
import { stickyStatuses } from "../cluster/outbound-build.ts";
import { buildFacet } from "../facets.ts";
import { delimited } from "../outbound/stat-name.ts";
import { endpointPolicy, type OutboundTarget } from "../outbound/targets.ts";
import { encodePart, resourceOf } from "../part.ts";
import { resourceRecipe } from "../recipe.ts";
import { loadBalancer } from "../traffic-policy/load-balancer.ts";
import type { View } from "../view.ts";
import { ads } from "./ads.ts";
import { edsTarget } from "./target.ts";
import { clientSocket } from "./tls.ts";

type ClusterInit = Fields<typeof ClusterSchema>;

/** The key is a target's. */
export const grpcCluster = resourceRecipe(buildFacet, types.cluster, (view, key) => {
  const target = edsTarget(view, key, undefined);
  return target && resourceOf(target.name, encodePart(ClusterSchema, sound(view, target)));
});

/** One value out of range would cost the client the whole answer: then nothing of the policy holds but TLS. */
function sound(view: View<BuildFacet>, target: OutboundTarget): Cluster {
  const { loadBalancer: balancer, connectionPool } = endpointPolicy(target);
  const cluster = build(view, target, { ...balancing(balancer), ...limits(connectionPool) });
  return brokenConstraint(ClusterSchema, cluster) === undefined ? cluster : build(view, target, {});
}

function build(view: View<BuildFacet>, target: OutboundTarget, policy: ClusterInit): Cluster {
  const sticky = target.subset === undefined ? stickyStatuses(target) : {};
  return create(ClusterSchema, {
    name: target.name,
    altStatName: delimited(target.name),
    ...edsDiscovery(target.name, ads),
    ...(Object.keys(sticky).length > 0 ? { commonLbConfig: sticky } : {}),
    ...socket(view, target),
    ...policy,
  });
}

/**
 * Only where a rule says so, as Istio has it: nobody can tell whether the application uses xDS credentials, nor whether
 * a server takes mTLS from gRPC, which cannot name Istio's protocols.
 */
function socket(view: View<BuildFacet>, target: OutboundTarget): ClusterInit {
  if (endpointPolicy(target).tls?.mode !== "ISTIO_MUTUAL") return {};
  return { transportSocket: clientSocket(view.mesh.identities(target.service.key)) };
}

/** gRPC knows round robin, which is its own default, least request and ring hash; for Maglev, which it refuses, a ring stands in. */
function balancing(settings: LoadBalancerSettings | undefined): ClusterInit {
  if (settings?.consistentHash?.maglev) return { lbPolicy: Cluster_LbPolicy.RING_HASH };
  if (settings?.consistentHash) return loadBalancer(settings);
  return settings?.simple === "LEAST_REQUEST" ? { lbPolicy: Cluster_LbPolicy.LEAST_REQUEST } : {};
}

/** The one limit that gRPC knows. */
function limits(pool: ConnectionPoolSettings | undefined): ClusterInit {
  const maxRequests = pool?.http?.http2MaxRequests ?? 0;
  return maxRequests > 0 ? { circuitBreakers: { thresholds: [{ maxRequests }] } } : {};
}
