/** Mesh config or an extension provider in; the configuration of one Envoy access logger out. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import { ApiVersion } from "../../gen/envoy/config/core/v3/config_source_pb.js";
import { FileAccessLogSchema } from "../../gen/envoy/extensions/access_loggers/file/v3/file_pb.js";
import {
  type CommonGrpcAccessLogConfigSchema,
  HttpGrpcAccessLogConfigSchema,
  TcpGrpcAccessLogConfigSchema,
} from "../../gen/envoy/extensions/access_loggers/grpc/v3/als_pb.js";
import { OpenTelemetryAccessLogConfigSchema } from "../../gen/envoy/extensions/access_loggers/open_telemetry/v3/logs_service_pb.js";
import { compareText, isRecord, objectLimits, parseJson } from "../../lib/index.ts";
import type { ExtensionProvider, MeshConfigSpec, OutboundFacet } from "../../model/index.ts";
import { packAny } from "../build/any.ts";
import type { Fields } from "../build/fields.ts";
import { packSound } from "../build/sound.ts";
import type { View } from "../view.ts";
import { defaultFields, defaultText, formattersFor, jsonFormat, textFormat } from "./log-format.ts";
import { type ProviderCluster, providerCluster } from "./provider.ts";

/** A listener logs only connections that no filter chain took. */
export type LogPlace = "http" | "tcp" | "listener";

export interface Logger {
  readonly name: string;
  readonly config: Any;
}

/** What metadata exchange found out about the peers; the older names are still written by older proxies. */
const peers = ["upstream_peer", "downstream_peer"];
const allPeers = [
  ...peers,
  "wasm.upstream_peer",
  "wasm.upstream_peer_id",
  "wasm.downstream_peer",
  "wasm.downstream_peer_id",
];

const fileLogger = "envoy.access_loggers.file";
const httpGrpcLogger = "envoy.access_loggers.http_grpc";
const tcpGrpcLogger = "envoy.tcp_grpc_access_log";

/** A JSON format that cannot be read gives way to the default. */
export function meshFileLogger(mesh: MeshConfigSpec, path: string): Logger {
  const format =
    mesh.accessLogEncoding === "JSON"
      ? jsonFormat(readFields(mesh.accessLogFormat ?? ""))
      : textFormat(mesh.accessLogFormat ?? "");
  return {
    name: fileLogger,
    config: packAny(FileAccessLogSchema, { path, accessLogFormat: { case: "logFormat", value: format } }),
  };
}

function readFields(text: string): JsonObject {
  if (text === "") return defaultFields;
  try {
    const parsed = parseJson(text, objectLimits);
    return isRecord(parsed) ? (parsed as JsonObject) : defaultFields;
  } catch {
    return defaultFields;
  }
}

/** Sent to the cluster that the bootstrap declares. */
export function meshGrpcLogger(place: LogPlace): Logger {
  const common = grpcCommon(`${place}_envoy_accesslog`, { host: "", cluster: "envoy_accesslog_service" }, allPeers);
  return place === "http"
    ? { name: httpGrpcLogger, config: packAny(HttpGrpcAccessLogConfigSchema, { commonConfig: common }) }
    : { name: tcpGrpcLogger, config: packAny(TcpGrpcAccessLogConfigSchema, { commonConfig: common }) };
}

/** Undefined for providers that do not log, whose service is unknown, or whose settings Envoy would refuse. */
export function providerLogger(view: View<OutboundFacet>, provider: ExtensionProvider): Logger | undefined {
  if (provider.envoyFileAccessLog) return providerFileLogger(view, provider.name, provider.envoyFileAccessLog);
  if (provider.envoyHttpAls) return httpAls(view, provider.envoyHttpAls);
  if (provider.envoyTcpAls) return tcpAls(view, provider.envoyTcpAls);
  if (provider.envoyOtelAls) return openTelemetry(view, provider.envoyOtelAls);
  return undefined;
}

type FileProvider = NonNullable<ExtensionProvider["envoyFileAccessLog"]>;

function providerFileLogger(view: View<OutboundFacet>, name: string | undefined, file: FileProvider): Logger {
  const path = file.path || "/dev/stdout";
  // The built-in provider takes its format from mesh config, as long as nobody gave it one.
  if (name === "envoy" && !file.logFormat && !file.omitEmptyValues) return meshFileLogger(view.mesh.settings(), path);
  const labels = file.logFormat?.labels;
  const format = labels
    ? jsonFormat(labels as JsonObject, file.omitEmptyValues)
    : textFormat(file.logFormat?.text ?? "", file.omitEmptyValues);
  return {
    name: fileLogger,
    config: packAny(FileAccessLogSchema, { path, accessLogFormat: { case: "logFormat", value: format } }),
  };
}

function httpAls(view: View<OutboundFacet>, als: NonNullable<ExtensionProvider["envoyHttpAls"]>): Logger | undefined {
  const target = providerCluster(view, als.service, als.port);
  if (!target) return undefined;
  const config = packSound(HttpGrpcAccessLogConfigSchema, {
    commonConfig: grpcCommon(als.logName || "http_envoy_accesslog", target, als.filterStateObjectsToLog),
    additionalRequestHeadersToLog: [...(als.additionalRequestHeadersToLog ?? [])],
    additionalResponseHeadersToLog: [...(als.additionalResponseHeadersToLog ?? [])],
    additionalResponseTrailersToLog: [...(als.additionalResponseTrailersToLog ?? [])],
  });
  return config && { name: httpGrpcLogger, config };
}

function tcpAls(view: View<OutboundFacet>, als: NonNullable<ExtensionProvider["envoyTcpAls"]>): Logger | undefined {
  const target = providerCluster(view, als.service, als.port);
  if (!target) return undefined;
  const commonConfig = grpcCommon(als.logName || "tcp_envoy_accesslog", target, als.filterStateObjectsToLog);
  return { name: tcpGrpcLogger, config: packAny(TcpGrpcAccessLogConfigSchema, { commonConfig }) };
}

function openTelemetry(
  view: View<OutboundFacet>,
  als: NonNullable<ExtensionProvider["envoyOtelAls"]>,
): Logger | undefined {
  const target = providerCluster(view, als.service, als.port);
  if (!target) return undefined;
  const text = als.logFormat?.text || defaultText;
  const labels = Object.entries(als.logFormat?.labels ?? {}).sort(([a], [b]) => compareText(a, b));
  const values = labels.map(([key, value]) => ({
    key,
    value: { value: { case: "stringValue" as const, value: typeof value === "string" ? value : "" } },
  }));
  const config = packAny(OpenTelemetryAccessLogConfigSchema, {
    commonConfig: grpcCommon(als.logName || "otel_envoy_accesslog", target, allPeers),
    disableBuiltinLabels: true,
    body: { value: { case: "stringValue", value: text } },
    ...(values.length > 0 ? { attributes: { values } } : {}),
    formatters: formattersFor([text, ...labels.map(([, value]) => value)]),
  });
  return { name: "envoy.access_loggers.open_telemetry", config };
}

function grpcCommon(
  logName: string,
  { host, cluster }: ProviderCluster,
  state: readonly string[] | undefined,
): Fields<typeof CommonGrpcAccessLogConfigSchema> {
  return {
    logName,
    grpcService: { targetSpecifier: { case: "envoyGrpc", value: { clusterName: cluster, authority: host } } },
    transportApiVersion: ApiVersion.V3,
    filterStateObjectsToLog: state && state.length > 0 ? [...state] : peers,
  };
}
