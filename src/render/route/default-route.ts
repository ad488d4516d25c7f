/** A service's port without VirtualService in, its one route out; and the route of an inbound port. */
import { create } from "@bufbuild/protobuf";
import { DurationSchema } from "@bufbuild/protobuf/wkt";
import { type Route, RouteActionSchema } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import type { HTTPRetry } from "../../model/index.ts";
import { catchAllRoute } from "../build/route-config.ts";
import { defaultRouteName, encodeAction, encodeDefaultRoute } from "../build/route-default.ts";
import { type ConsistentHash, hashPolicy } from "./hash-policy.ts";
import { inboundRetry, outboundRetry } from "./retry.ts";
import { timeouts } from "./timeout.ts";

/** What the default routes of all services have in common, encoded. */
export function outboundDefaultAction(retry: HTTPRetry | undefined): Uint8Array {
  const retryPolicy = outboundRetry(retry, false);
  return encodeAction(create(RouteActionSchema, { ...timeouts(undefined), ...(retryPolicy ? { retryPolicy } : {}) }));
}

export interface OutboundDefault {
  readonly cluster: string;
  readonly operation: string;
  readonly action: Uint8Array;
  readonly hash: ConsistentHash | undefined;
}

/** Encoded as the field of a virtual host. */
export function outboundDefaultRoute({ cluster, operation, action, hash }: OutboundDefault): Uint8Array {
  const policy = hashPolicy(hash);
  const hashing = policy ? [encodeAction(create(RouteActionSchema, { hashPolicy: [policy] }))] : [];
  return encodeDefaultRoute({ cluster, operation, actions: [action, ...hashing] });
}

export interface InboundDefault {
  readonly cluster: string;
  readonly operation: string;
  /** False: none at all. */
  readonly retry: HTTPRetry | false | undefined;
}

/** No timeout: the client's counts. */
export function inboundDefaultRoute({ cluster, operation, retry }: InboundDefault): Route {
  const none = create(DurationSchema);
  const retryPolicy = retry === false ? undefined : inboundRetry(retry);
  const value = create(RouteActionSchema, {
    clusterSpecifier: { case: "cluster", value: cluster },
    timeout: none,
    maxStreamDuration: { maxStreamDuration: none, grpcTimeoutHeaderMax: none },
    ...(retryPolicy ? { retryPolicy } : {}),
  });
  return catchAllRoute(defaultRouteName, { case: "route", value }, operation);
}
