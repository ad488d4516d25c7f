/** A sidecar's policy for unknown destinations in; the virtual host that takes whatever no other does out. */
import { create, toBinary } from "@bufbuild/protobuf";
import { DurationSchema } from "@bufbuild/protobuf/wkt";
import { RouteActionSchema, VirtualHostSchema } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { catchAllRoute, virtualHost } from "../build/route-config.ts";
import { egressFacet } from "../facets.ts";
import { allowAnyDynamicDnsCluster, passthroughCluster } from "../outbound/cluster-name.ts";
import { type OutboundPolicy, outboundPolicy } from "../outbound/policy.ts";
import { recipe } from "../recipe.ts";
import { destinationCluster } from "./destination.ts";
import { appendsForwardedHost, includesAttemptCount } from "./proxy-headers.ts";
import { type HostPart, hostPart, sameHost } from "./virtual-host.ts";

export const catchAllHost = recipe(
  egressFacet,
  "catch-all virtual host",
  (view): HostPart => {
    const policy = outboundPolicy(view);
    const cluster = unknownTrafficCluster(policy);
    const name = hostNames[policy.mode];
    const shell = { name, domains: ["*"], includeRequestAttemptCount: includesAttemptCount(view.proxy) };
    if (cluster === undefined) {
      const blocked = catchAllRoute(name, { case: "directResponse", value: { status: 502 } });
      return hostPart(name, toBinary(VirtualHostSchema, virtualHost(shell, [blocked])), []);
    }
    const none = create(DurationSchema);
    const value = create(RouteActionSchema, {
      clusterSpecifier: { case: "cluster", value: cluster },
      timeout: none,
      maxGrpcTimeout: none,
      appendXForwardedHost: appendsForwardedHost(view.proxy),
    });
    const host = virtualHost(shell, [catchAllRoute(name, { case: "route", value })]);
    return hostPart(name, toBinary(VirtualHostSchema, host), [cluster]);
  },
  sameHost,
);

const hostNames: Readonly<Record<OutboundPolicy["mode"], string>> = {
  REGISTRY_ONLY: "block_all",
  ALLOW_ANY: "allow_any",
  ALLOW_ANY_DYNAMIC_DNS: "allow_any_dynamic_dns",
};

/** Undefined where unknown destinations are refused. */
function unknownTrafficCluster({ mode, egressProxy }: OutboundPolicy): string | undefined {
  if (mode === "REGISTRY_ONLY") return undefined;
  if (mode === "ALLOW_ANY_DYNAMIC_DNS") return allowAnyDynamicDnsCluster;
  return egressProxy ? destinationCluster(egressProxy, undefined, 0) : passthroughCluster;
}
