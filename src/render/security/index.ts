/** RequestAuthentication and AuthorizationPolicy in the filter chains: a proxy's class and a place in, filters out. */

import type { Filter } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import { ExtAuthzSchema } from "../../gen/envoy/extensions/filters/http/ext_authz/v3/ext_authz_pb.js";
import { RBACSchema } from "../../gen/envoy/extensions/filters/http/rbac/v3/rbac_pb.js";
import { ExtAuthzSchema as TcpExtAuthzSchema } from "../../gen/envoy/extensions/filters/network/ext_authz/v3/ext_authz_pb.js";
import type { HttpFilter } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { RBACSchema as TcpRbacSchema } from "../../gen/envoy/extensions/filters/network/rbac/v3/rbac_pb.js";
import type { InboundFacet } from "../../model/index.ts";
import { packAny } from "../build/any.ts";
import { httpFilter } from "../build/http-filter.ts";
import { networkFilter } from "../build/listener-chain.ts";
import { inboundFacet } from "../facets.ts";
import type { Steps } from "../layer.ts";
import { recipe } from "../recipe.ts";
import type { View } from "../view.ts";
import {
  type AuthorizationFilter,
  authorizationSteps,
  customAuthorization,
  localAuthorization,
  rbacName,
} from "./authorization.ts";
import { jwtFilter, jwtSteps } from "./jwt.ts";
import { packRules } from "./pack-rules.ts";
import type { PolicyProtocol } from "./rbac.ts";

export { plainAuthorization } from "./authorization.ts";
export { packRules } from "./pack-rules.ts";

/** Where the filters go. Istio has no security filters on a sidecar's outbound HTTP chains. */
export type SecurityDirection = "inbound" | "outbound" | "gateway";

/** In the order on the wire: external authorisation (CUSTOM) first, then JWT, then local authorisation. */
const stages = ["custom", "authentication", "authorization"] as const;
export type SecurityStage = (typeof stages)[number];

export function securityHttpFilters(
  view: View<InboundFacet>,
  stage: SecurityStage,
  direction: SecurityDirection,
): readonly HttpFilter[] {
  return direction === "outbound" ? [] : httpSecurity(view, stage);
}

const httpSecurity = recipe(inboundFacet, "HTTP security", (view, stage: SecurityStage): readonly HttpFilter[] => {
  if (stage === "authentication") return jwtFilter(view);
  const filters = stage === "custom" ? customAuthorization(view, "http") : localAuthorization(view, "http");
  return filters.map(writeHttp);
});

/** `authentication` has no network filters. */
export function securityNetworkFilters(
  view: View<InboundFacet>,
  stage: SecurityStage,
  direction: SecurityDirection,
): readonly Filter[] {
  return direction === "outbound" || stage === "authentication" ? [] : tcpSecurity(view, stage);
}

const tcpSecurity = recipe(inboundFacet, "TCP security", (view, stage: SecurityStage): readonly Filter[] => {
  const filters = stage === "custom" ? customAuthorization(view, "tcp") : localAuthorization(view, "tcp");
  return filters.map(writeTcp);
});

/** Makes the filters of these protocols beforehand, one after the other and a few rules at a time. */
export function* securitySteps(view: View<InboundFacet>, protocols: readonly PolicyProtocol[]): Steps {
  for (const protocol of protocols) {
    yield* authorizationSteps(view, protocol);
    if (protocol === "http") yield* jwtSteps(view);
    for (const stage of stages) {
      if (protocol === "http") securityHttpFilters(view, stage, "inbound");
      else securityNetworkFilters(view, stage, "inbound");
      yield;
    }
  }
}

function writeHttp(filter: AuthorizationFilter): HttpFilter {
  return filter.kind === "external-http"
    ? httpFilter("envoy.filters.http.ext_authz", packAny(ExtAuthzSchema, filter.settings))
    : httpFilter(rbacName("http"), packRules(RBACSchema, filter.kind === "rbac" ? filter.settings : {}));
}

function writeTcp(filter: AuthorizationFilter): Filter {
  if (filter.kind === "external-tcp")
    return networkFilter("envoy.filters.network.ext_authz", packAny(TcpExtAuthzSchema, filter.settings));
  const settings = filter.kind === "rbac" ? filter.settings : {};
  return networkFilter(rbacName("tcp"), packRules(TcpRbacSchema, settings, { statPrefix: "tcp." }));
}
