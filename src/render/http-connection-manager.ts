/** A chain's place and its routes in; the network filter that speaks HTTP there out. */
import { create, toBinary } from "@bufbuild/protobuf";
import { ApiVersion } from "../gen/envoy/config/core/v3/config_source_pb.js";
import type { Filter } from "../gen/envoy/config/listener/v3/listener_components_pb.js";
import {
  HttpConnectionManager_PathWithEscapedSlashesAction as EscapedSlashes,
  HttpConnectionManagerSchema,
} from "../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { UuidRequestIdConfigSchema } from "../gen/envoy/extensions/request_id/uuid/v3/uuid_pb.js";
import { isHttp2 } from "../model/index.ts";
import { packAny } from "./build/any.ts";
import { brokenConstraint } from "./build/constraints.ts";
import { seconds } from "./build/duration.ts";
import { networkFilter, packShared } from "./build/listener-chain.ts";
import { appliedConnectionSettings } from "./connection-settings.ts";
import { httpFilters } from "./filters/http-filters.ts";
import type { HcmInit, HttpChain } from "./http-chain.ts";
import { directionSettings } from "./http-headers.ts";
import { proxyConfig } from "./proxy-config.ts";
import { accessLogs } from "./telemetry/access-log.ts";
import { agentHttpLogs } from "./telemetry/agent-metrics.ts";
import { tracing } from "./telemetry/tracing.ts";
import type { View } from "./view.ts";

export function httpConnectionManager(chain: HttpChain): Filter {
  const routeSpecifier: NonNullable<HcmInit["routeSpecifier"]> =
    "rds" in chain.routes
      ? { case: "rds", value: rds(chain.routes.rds) }
      : { case: "routeConfig", value: chain.routes.config };
  const own = { statPrefix: chain.statPrefix, routeSpecifier };
  return networkFilter(
    "envoy.filters.network.http_connection_manager",
    packShared(HttpConnectionManagerSchema, sharedSettings(chain), own),
  );
}

/** Everything but names and routes is the same for many chains, and by far the larger part: it is encoded once. */
function sharedSettings(chain: HttpChain): Uint8Array {
  const { view, direction, protocol, port, dynamicHost, absoluteUrls } = chain;
  const kind = protocol === "GRPC-Web" ? "grpc-web" : isHttp2(protocol) ? "http2" : "http";
  const id = ["hcm", direction, kind, port, dynamicHost ?? "", absoluteUrls ? "absolute" : ""].join("|");
  return view.shared(id, () =>
    toBinary(HttpConnectionManagerSchema, create(HttpConnectionManagerSchema, settings(chain))),
  );
}

function settings(chain: HttpChain): HcmInit {
  const { view, direction } = chain;
  const { settings: traced, requestIdSamples } = tracing(view, direction);
  const base: HcmInit = {
    ...directionSettings(chain),
    ...pathNormalization(view),
    appendXForwardedPort: proxyConfig(view.proxy).proxyHeaders?.xForwardedPort?.enabled ?? false,
    useRemoteAddress: direction === "gateway",
    upgradeConfigs: [{ upgradeType: "websocket" }],
    streamIdleTimeout: seconds(0),
    proxy100Continue: true,
    accessLog: [...accessLogs(view, direction, "http"), ...agentHttpLogs(view, direction)],
    httpFilters: httpFilters(chain),
    requestIdExtension: {
      typedConfig: packAny(UuidRequestIdConfigSchema, { useRequestIdForTraceSampling: requestIdSamples }),
    },
    ...(traced ? { tracing: traced } : {}),
  };
  const limited = appliedConnectionSettings(base, view.proxy);
  return isSound(limited) ? limited : base;
}

/** Limits that Envoy would refuse are left out as a whole: with them it would refuse every listener. */
function isSound(init: HcmInit): boolean {
  const named: HcmInit = { ...init, statPrefix: "any", routeSpecifier: { case: "rds", value: rds("any") } };
  return brokenConstraint(HttpConnectionManagerSchema, create(HttpConnectionManagerSchema, named)) === undefined;
}

/** R20: what policies see of a path is what the application will see of it, as far as the mesh was told. */
function pathNormalization(view: View): HcmInit {
  const mode = view.mesh.settings().pathNormalization?.normalization ?? "DEFAULT";
  return {
    normalizePath: mode !== "NONE",
    mergeSlashes: mode === "MERGE_SLASHES" || mode === "DECODE_AND_MERGE_SLASHES",
    pathWithEscapedSlashesAction:
      mode === "DECODE_AND_MERGE_SLASHES" ? EscapedSlashes.UNESCAPE_AND_FORWARD : EscapedSlashes.KEEP_UNCHANGED,
  };
}

/** Routes are part of a listener's start: no fetch timeout, so it never serves without them. */
function rds(routeConfigName: string) {
  return {
    routeConfigName,
    configSource: {
      configSourceSpecifier: { case: "ads" as const, value: {} },
      initialFetchTimeout: seconds(0),
      resourceApiVersion: ApiVersion.V3,
    },
  };
}
