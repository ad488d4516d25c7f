/** A chain's place and its routes in; the network filter that speaks HTTP there out. */
import { create, toBinary } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { ApiVersion } from "../../gen/envoy/config/core/v3/config_source_pb.js";
import { type Filter, FilterSchema } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import {
  HttpConnectionManager_PathWithEscapedSlashesAction as EscapedSlashes,
  HttpConnectionManagerSchema,
} from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { UuidRequestIdConfigSchema } from "../../gen/envoy/extensions/request_id/uuid/v3/uuid_pb.js";
import { digest, joinKept } from "../../lib/index.ts";
import { type BuildFacet, isHttp2, type Protocol } from "../../model/index.ts";
import { packAny } from "../build/any.ts";
import { brokenConstraint } from "../build/constraints.ts";
import { seconds } from "../build/duration.ts";
import { networkFilter } from "../build/listener-chain.ts";
import { inboundFacet, outboundFacet, tracedFacet } from "../facets.ts";
import { httpFilters } from "../filters/http-filters.ts";
import { encodePart, joined, nested, type Part, partOf, sameBytes } from "../part.ts";
import type { Direction } from "../proxy/direction.ts";
import { proxyConfig } from "../proxy/proxy-config.ts";
import { keyOf, recipe, wordsOf } from "../recipe.ts";
import { accessLogs } from "../telemetry/access-log.ts";
import { agentHttpLogs } from "../telemetry/agent-metrics.ts";
import { customTags } from "../telemetry/custom-tags.ts";
import { meshTracing, type Tracing, telemetryTracing } from "../telemetry/tracing.ts";
import type { View } from "../view.ts";
import type { HcmInit, HttpChain, SharedPlace } from "./chain.ts";
import { appliedConnectionSettings } from "./connection-settings.ts";
import { directionSettings } from "./headers.ts";

/** What of a connection manager does not depend on who runs it, encoded. Settings come twice: what many chains share, and the chain's own. */
export interface Manager {
  readonly shared: Uint8Array;
  readonly own: Uint8Array;
}

export function manager(chain: HttpChain): Manager {
  const { direction, protocol, port, dynamicHost = "", absoluteUrls, statPrefix, routes } = chain;
  const kind = protocol === "GRPC-Web" ? "GRPC-Web" : isHttp2(protocol) ? "HTTP2" : "HTTP";
  const key = keyOf(direction, kind, String(port), dynamicHost, absoluteUrls ? "absolute" : "");
  const routeSpecifier: NonNullable<HcmInit["routeSpecifier"]> =
    "rds" in routes ? { case: "rds", value: rds(routes.rds) } : { case: "routeConfig", value: routes.config };
  return {
    shared: chain.direction === "outbound" ? outboundSettings(chain.view, key) : inboundSettings(chain.view, key),
    own: encode({ statPrefix, routeSpecifier }),
  };
}

export const sameManager = (a: Manager | undefined, b: Manager | undefined): boolean =>
  a === b || (a !== undefined && b !== undefined && a.shared === b.shared && Buffer.compare(a.own, b.own) === 0);

const encode = (init: HcmInit): Uint8Array =>
  toBinary(HttpConnectionManagerSchema, create(HttpConnectionManagerSchema, init));

/** Bytes of a connection manager that are each deployment's own. */
export interface OwnBytes {
  readonly bytes: Uint8Array;
  readonly hash: string;
}

/**
 * Tracing, which names the workload and so is each deployment's own: kept apart, so that it does not make everything
 * else so too.
 */
export const traced = recipe(
  tracedFacet,
  "tracing",
  (view, direction: Direction): OwnBytes => {
    const own = telemetryTracing(view, direction);
    const how = own ? encodeTracing(own) : meshTracingBytes(view);
    const { tags } = own ?? meshTracing(view);
    // Settings that are there twice are merged.
    const spans = tags ? nested(HttpConnectionManagerSchema, "tracing", customTags(view, tags)).pieces : [];
    const bytes = joinKept([how, ...spans]);
    return { bytes, hash: digest(bytes) };
  },
  (a, b) => a.hash === b.hash,
);

const meshTracingBytes = recipe(
  outboundFacet,
  "mesh tracing",
  (view): Uint8Array => encodeTracing(meshTracing(view)),
  sameBytes,
);

const encodeTracing = ({ settings, requestIdSamples }: Tracing): Uint8Array =>
  encode({
    requestIdExtension: {
      typedConfig: packAny(UuidRequestIdConfigSchema, { useRequestIdForTraceSampling: requestIdSamples }),
    },
    ...(settings ? { tracing: settings } : {}),
  });

/** The filter as a part, its pieces shared. */
export function managerPart({ shared, own }: Manager, tracing: Uint8Array): Part {
  const config = joined([ofType, nested(AnySchema, "value", partOf([own, shared, tracing]))]);
  return joined([named, nested(FilterSchema, "typedConfig", config)]);
}

/** The filter as a message, for those who put it into another one. */
export function httpConnectionManager(chain: HttpChain, tracing: Uint8Array): Filter {
  const { shared, own } = manager(chain);
  const value = Buffer.concat([own, shared, tracing]);
  return networkFilter(name, create(AnySchema, { typeUrl, value }));
}

const name = "envoy.filters.network.http_connection_manager";
const typeUrl = `type.googleapis.com/${HttpConnectionManagerSchema.typeName}`;

const named = encodePart(FilterSchema, create(FilterSchema, { name }));
const ofType = encodePart(AnySchema, create(AnySchema, { typeUrl }));

/** Everything but names and routes is the same for many chains, and by far the larger part: it is encoded once. */
const outboundSettings = recipe(
  outboundFacet,
  "outbound connection manager",
  (view, key) => encode(settings({ ...readKey(key), view, direction: "outbound" })),
  sameBytes,
);
const inboundSettings = recipe(
  inboundFacet,
  "inbound connection manager",
  (view, key) => {
    const place = readKey(key);
    return encode(settings({ ...place, view, direction: place.direction === "gateway" ? "gateway" : "inbound" }));
  },
  sameBytes,
);

function readKey(key: string) {
  const [direction = "", protocol = "", port = "", dynamicHost = "", absolute = ""] = wordsOf(key);
  return {
    direction,
    protocol: protocol as Protocol,
    port: Number(port),
    dynamicHost: dynamicHost === "" ? undefined : dynamicHost,
    absoluteUrls: absolute !== "",
  };
}

function settings(chain: SharedPlace): HcmInit {
  const { view, direction } = chain;
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
function pathNormalization(view: View<BuildFacet>): HcmInit {
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
