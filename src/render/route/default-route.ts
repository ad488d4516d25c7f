/** A service's port without VirtualService in, its one route out; and the route of an inbound port. */
import { create } from "@bufbuild/protobuf";
import { DurationSchema } from "@bufbuild/protobuf/wkt";
import { type Route, RouteActionSchema } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import type { HTTPRetry } from "../../model/index.ts";
import { catchAllRoute } from "../build/route-config.ts";
import { type ConsistentHash, hashPolicy } from "./hash-policy.ts";
import { inboundRetry, outboundRetry } from "./retry.ts";
import { timeouts } from "./timeout.ts";

const routeName = "default";

export interface DefaultRoute {
  readonly cluster: string;
  readonly operation: string;
  readonly retry: HTTPRetry | undefined;
}

export function outboundDefaultRoute(route: DefaultRoute, hash: ConsistentHash | undefined): Route {
  const policy = hashPolicy(hash);
  const retryPolicy = outboundRetry(route.retry, false);
  const action = create(RouteActionSchema, {
    clusterSpecifier: { case: "cluster", value: route.cluster },
    ...timeouts(undefined),
    ...(retryPolicy ? { retryPolicy } : {}),
    hashPolicy: policy ? [policy] : [],
  });
  return catchAllRoute(routeName, { case: "route", value: action }, route.operation);
}

/** The client's timeout counts. A retry would cut gRPC streams, so gRPC ports have none. */
export function inboundDefaultRoute(route: DefaultRoute, retries: boolean): Route {
  const none = create(DurationSchema);
  const retryPolicy = retries ? inboundRetry(route.retry) : undefined;
  const action = create(RouteActionSchema, {
    clusterSpecifier: { case: "cluster", value: route.cluster },
    timeout: none,
    maxStreamDuration: { maxStreamDuration: none, grpcTimeoutHeaderMax: none },
    ...(retryPolicy ? { retryPolicy } : {}),
  });
  return catchAllRoute(routeName, { case: "route", value: action }, route.operation);
}
