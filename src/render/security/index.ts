/** Slots for RequestAuthentication and AuthorizationPolicy in the filter chains: a proxy's class and a place in, filters out. */
import type { Filter } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import type { HttpFilter } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import type { View } from "../view.ts";

/** Where the filters go. Istio has no security filters on a sidecar's outbound HTTP chains. */
export type SecurityDirection = "inbound" | "outbound" | "gateway";

/** In the order on the wire: external authorisation (CUSTOM) first, then JWT, then local authorisation. */
export type SecurityStage = "custom" | "authentication" | "authorization";

export function securityHttpFilters(
  _view: View,
  _stage: SecurityStage,
  _direction: SecurityDirection,
): readonly HttpFilter[] {
  return [];
}

/** `authentication` has no network filters. */
export function securityNetworkFilters(
  _view: View,
  _stage: SecurityStage,
  _direction: SecurityDirection,
): readonly Filter[] {
  return [];
}
