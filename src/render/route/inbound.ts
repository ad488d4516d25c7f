/** A port that a workload serves in, the route configuration inside its inbound connection manager out. */
import type { RouteConfiguration } from "../../gen/envoy/config/route/v3/route_pb.js";
import { type InboundFacet, isGrpc, type Protocol } from "../../model/index.ts";
import { inlineRouteConfig, virtualHost } from "../build/route-config.ts";
import type { View } from "../view.ts";
import { inboundDefaultRoute } from "./default-route.ts";
import { hostPort } from "./domains.ts";

export interface InboundPort {
  /** Names the route configuration too. */
  readonly cluster: string;
  /** The service's port, not the workload's; 0 for the catch-all. */
  readonly port: number;
  readonly protocol: Protocol;
  /** Host of the service, for the name of the span; "" for the catch-all. */
  readonly host: string;
}

export function inboundRouteConfig(view: View<InboundFacet>, inbound: InboundPort): RouteConfiguration {
  const { cluster, port, protocol, host } = inbound;
  // A retry would cut gRPC streams.
  const retry = isGrpc(protocol) ? false : view.mesh.settings().defaultInboundHttpRetryPolicy;
  const route = inboundDefaultRoute({ cluster, operation: `${hostPort(host, port)}/*`, retry });
  const shell = { name: `inbound|http|${port}`, domains: ["*"], includeRequestAttemptCount: false };
  return inlineRouteConfig(cluster, virtualHost(shell, [route]));
}
