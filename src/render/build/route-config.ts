/** Names and encoded virtual hosts in; route configurations, virtual hosts and their plain routes out. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type Route,
  RouteSchema,
  type VirtualHost,
  type VirtualHost_TlsRequirementType,
  VirtualHostSchema,
} from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { type RouteConfiguration, RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";

/** Envoy's own bound of 4 KiB is too small for Istio's direct responses. */
export const maxDirectResponseBytes = 1024 * 1024;

/** A route configuration that proxies ask for by name, still without its virtual hosts. */
export function namedRouteConfig(name: string): RouteConfiguration {
  return create(RouteConfigurationSchema, {
    name,
    validateClusters: false,
    maxDirectResponseBodySizeBytes: maxDirectResponseBytes,
    ignorePortInHostMatching: true,
  });
}

/** What a proxy is told that still asks for a name after its listener is gone. */
export function emptyRouteConfig(name: string): RouteConfiguration {
  return create(RouteConfigurationSchema, { name, validateClusters: false });
}

/** The route configuration inside an inbound connection manager. */
export function inlineRouteConfig(name: string, host: VirtualHost): RouteConfiguration {
  return create(RouteConfigurationSchema, { name, virtualHosts: [host], validateClusters: false });
}

export interface VirtualHostShell {
  readonly name: string;
  readonly domains: readonly string[];
  readonly includeRequestAttemptCount: boolean;
  readonly requireTls?: VirtualHost_TlsRequirementType;
}

export function virtualHost(shell: VirtualHostShell, routes: readonly Route[] = []): VirtualHost {
  const { name, includeRequestAttemptCount, requireTls } = shell;
  return create(VirtualHostSchema, {
    name,
    domains: [...shell.domains],
    routes: [...routes],
    includeRequestAttemptCount,
    ...(requireTls === undefined ? {} : { requireTls }),
  });
}

/** A route that takes every request. */
export function catchAllRoute(
  name: string,
  action: NonNullable<MessageInitShape<typeof RouteSchema>["action"]>,
  operation?: string,
): Route {
  return create(RouteSchema, {
    name,
    match: { pathSpecifier: { case: "prefix", value: "/" } },
    action,
    ...(operation === undefined ? {} : { decorator: { operation } }),
  });
}
