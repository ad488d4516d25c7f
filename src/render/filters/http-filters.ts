/** A place in; the HTTP filters of its connection manager out. The order of the passes is the order on the wire. */
import type { HttpFilter } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { type ExtensionPhase, extensionFilters } from "../extensions/index.ts";
import { type SecurityStage, securityHttpFilters } from "../security/index.ts";
import { statsHttpFilters } from "../telemetry/stats.ts";
import { alpn } from "./alpn.ts";
import { cors } from "./cors.ts";
import { dynamicForwardProxy } from "./dynamic-forward-proxy.ts";
import { fault } from "./fault.ts";
import { grpcStats } from "./grpc-stats.ts";
import { grpcWeb } from "./grpc-web.ts";
import type { HttpFilterPass, HttpPlace } from "./http-filter.ts";
import { peerMetadata } from "./peer-metadata.ts";
import { router } from "./router.ts";

const passes: readonly HttpFilterPass[] = [
  // First, so that every later filter, also one that refuses, knows the peer.
  peerMetadata,
  security("custom"),
  extension("AUTHN"),
  security("authentication"),
  extension("AUTHZ"),
  security("authorization"),
  extension("STATS"),
  extension("UNSPECIFIED_PHASE"),
  grpcWeb,
  grpcStats,
  alpn,
  // Both act only where a route configures them.
  fault,
  cors,
  ({ view, direction }) => statsHttpFilters(view, direction),
  dynamicForwardProxy,
  router,
];

export function httpFilters(place: HttpPlace): HttpFilter[] {
  return passes.flatMap((pass) => pass(place));
}

/** Istio has no security filters on a sidecar's way out. */
function security(stage: SecurityStage): HttpFilterPass {
  return ({ view, direction }) => (direction === "outbound" ? [] : securityHttpFilters(view, stage, direction));
}

function extension(phase: ExtensionPhase): HttpFilterPass {
  return ({ view, direction, port }) => extensionFilters(view, phase, { direction, port });
}
