/** How Envoy shall speak HTTP to an upstream in; the cluster's typed protocol options out. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { Any, Duration } from "@bufbuild/protobuf/wkt";
import type {
  HttpHeadersMatchSchema,
  MatchPredicateSchema,
} from "../../gen/envoy/config/common/matcher/v3/matcher_pb.js";
import {
  type Http1ProtocolOptions,
  Http1ProtocolOptionsSchema,
  type Http2ProtocolOptionsSchema,
} from "../../gen/envoy/config/core/v3/protocol_pb.js";
import { PreserveCaseFormatterConfigSchema } from "../../gen/envoy/extensions/http/header_formatters/preserve_case/v3/preserve_case_pb.js";
import { HttpProtocolOptionsSchema } from "../../gen/envoy/extensions/upstreams/http/v3/http_protocol_options_pb.js";
import { packAny } from "../build/any.ts";
import { duration, seconds } from "../build/duration.ts";
import { exactMatch } from "../build/match.ts";
import type { HttpOptions } from "./http-options.ts";

const key = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
type Init = MessageInitShape<typeof HttpProtocolOptionsSchema>;
type Upstream = NonNullable<Init["upstreamProtocolOptions"]>;

/** Nothing where Envoy's defaults do. */
export function buildHttpOptions(options: HttpOptions): Record<string, Any> {
  const tlsNames = options.autoSni || options.autoSanValidation;
  const errorCodes = options.errorCodes.length > 0;
  if (options.upstream === undefined && !options.common && !tlsNames && !errorCodes) return {};
  return {
    [key]: packAny(HttpProtocolOptionsSchema, {
      ...(options.common ? { commonHttpProtocolOptions: common(options.common) } : {}),
      ...(tlsNames
        ? {
            upstreamHttpProtocolOptions: {
              autoSni: options.autoSni,
              autoSanValidation: options.autoSanValidation,
            },
          }
        : {}),
      upstreamProtocolOptions: upstream(options),
      ...(errorCodes ? { outlierDetection: { errorMatcher: anyStatus(options.errorCodes) } } : {}),
    }),
  };
}

/** For servers that speak gRPC, and nothing else to be said. */
export function buildPlainHttp2Options(): Record<string, Any> {
  const value = { protocolConfig: { case: "http2ProtocolOptions" as const, value: {} } };
  return {
    [key]: packAny(HttpProtocolOptionsSchema, { upstreamProtocolOptions: { case: "explicitHttpConfig", value } }),
  };
}

/** Passthrough clusters do not know the service: they speak as the client did, with Istio's idle time. */
export function buildPassthroughHttpOptions(preserveCase: boolean): Record<string, Any> {
  return {
    [key]: packAny(HttpProtocolOptionsSchema, {
      commonHttpProtocolOptions: { idleTimeout: seconds(300) },
      upstreamProtocolOptions: asDownstream(preserveCase),
    }),
  };
}

function common(options: NonNullable<HttpOptions["common"]>): NonNullable<Init["commonHttpProtocolOptions"]> {
  const { idleTimeout, maxConnectionDuration, maxRequestsPerConnection } = options;
  return {
    idleTimeout: duration(idleTimeout),
    maxConnectionDuration: duration(maxConnectionDuration),
    maxRequestsPerConnection: maxRequestsPerConnection > 0 ? maxRequestsPerConnection : undefined,
  };
}

function upstream(options: HttpOptions): Upstream {
  if (options.upstream === "downstream") return asDownstream(options.preserveCase);
  if (options.upstream === "http2") {
    const value = { protocolConfig: { case: "http2ProtocolOptions" as const, value: http2(options) } };
    return { case: "explicitHttpConfig", value };
  }
  const value = { protocolConfig: { case: "httpProtocolOptions" as const, value: http1(options.preserveCase) } };
  return { case: "explicitHttpConfig", value };
}

function asDownstream(preserveCase: boolean): Upstream {
  return {
    case: "useDownstreamProtocolConfig",
    value: { httpProtocolOptions: http1(preserveCase), http2ProtocolOptions: {} },
  };
}

function http2(options: HttpOptions): MessageInitShape<typeof Http2ProtocolOptionsSchema> {
  const { keepAlive } = options;
  const timeout = pause(keepAlive?.timeout);
  return {
    maxConcurrentStreams: options.maxConcurrentStreams,
    ...(timeout ? { connectionKeepalive: { interval: pause(keepAlive?.interval), timeout } } : {}),
  };
}

/** Envoy refuses keepalives without a timeout, and pauses of less than a millisecond. */
function pause(text: string | undefined): Duration | undefined {
  const value = duration(text);
  return value && (value.seconds > 0n || value.nanos >= 1_000_000) ? value : undefined;
}

function anyStatus(codes: readonly number[]): MessageInitShape<typeof MatchPredicateSchema> {
  const rules = codes.map((code) => ({ rule: { case: "httpResponseHeadersMatch" as const, value: statusIs(code) } }));
  const [only] = rules;
  return rules.length === 1 && only ? only : { rule: { case: "orMatch", value: { rules } } };
}

function statusIs(code: number): MessageInitShape<typeof HttpHeadersMatchSchema> {
  const value = exactMatch(String(code));
  return { headers: [{ name: ":status", headerMatchSpecifier: { case: "stringMatch", value } }] };
}

function http1(preserveCase: boolean): Http1ProtocolOptions {
  if (!preserveCase) return create(Http1ProtocolOptionsSchema);
  const typedConfig = packAny(PreserveCaseFormatterConfigSchema, {});
  return create(Http1ProtocolOptionsSchema, {
    headerKeyFormat: {
      headerFormat: { case: "statefulFormatter", value: { name: "preserve_case", typedConfig } },
    },
  });
}
