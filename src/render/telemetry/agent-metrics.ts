/**
 * A proxy, a direction and a protocol in; the access logger by which a stock Envoy has its agent count what `istio.stats`
 * would count out. It goes by the same Telemetry rules.
 */
import { create } from "@bufbuild/protobuf";
import type { Duration } from "@bufbuild/protobuf/wkt";
import {
  type AccessLog,
  type AccessLogFilter,
  AccessLogFilterSchema,
  AccessLogSchema,
} from "../../gen/envoy/config/accesslog/v3/accesslog_pb.js";
import { ApiVersion } from "../../gen/envoy/config/core/v3/config_source_pb.js";
import { AccessLogType } from "../../gen/envoy/data/accesslog/v3/accesslog_pb.js";
import { OpenTelemetryAccessLogConfigSchema } from "../../gen/envoy/extensions/access_loggers/open_telemetry/v3/logs_service_pb.js";
import type { TcpProxySchema } from "../../gen/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy_pb.js";
import {
  type MetricChange,
  type MetricPlan,
  metricPlanAttribute,
  type OutboundFacet,
  standardMetrics,
  telemetryCluster,
} from "../../model/index.ts";
import { packAny } from "../build/any.ts";
import { duration, seconds } from "../build/duration.ts";
import type { Fields } from "../build/fields.ts";
import { outboundFacet } from "../facets.ts";
import type { Direction } from "../proxy/direction.ts";
import { isCountedByAgent } from "../proxy/profile.ts";
import { recipe } from "../recipe.ts";
import type { View } from "../view.ts";
import { lineFormat, requestNoteFormats, tagFormat } from "./metric-line.ts";
import { type MetricsSetting, metricsSettings } from "./metrics.ts";
import { findProvider } from "./provider.ts";
import { modeOf } from "./telemetry.ts";

type Protocol = MetricPlan["protocol"];

export function agentHttpLogs(view: View<OutboundFacet>, direction: Direction): AccessLog[] {
  return agentLogs(view, direction, "http");
}

type TcpLogging = Pick<Fields<typeof TcpProxySchema>, "accessLog" | "accessLogOptions">;

/**
 * A connection is counted when it opens, while it lasts and when it closes, because some last for days. The user's own
 * logs still get one line, at its end.
 */
export function tcpLogging(view: View<OutboundFacet>, direction: Direction, own: readonly AccessLog[]): TcpLogging {
  const counted = agentLogs(view, direction, "tcp");
  if (counted.length === 0) return { accessLog: [...own] };
  return {
    accessLog: [...own.map(onlyAtEnd), ...counted],
    accessLogOptions: {
      flushAccessLogOnConnected: true,
      accessLogFlushInterval: reportingInterval(appliedSetting(view, direction)),
    },
  };
}

/** Envoy refuses less than a millisecond. */
function reportingInterval(setting: MetricsSetting | undefined): Duration {
  const wanted = duration(setting?.reportingInterval);
  const isPossible = wanted && (wanted.seconds > 0n || (wanted.seconds === 0n && wanted.nanos >= 1_000_000));
  return isPossible ? wanted : seconds(15);
}

function agentLogs(view: View<OutboundFacet>, direction: Direction, protocol: Protocol): AccessLog[] {
  return protocol === "http" ? httpLogs(view, direction) : tcpLogs(view, direction);
}

const httpLogs = recipe(outboundFacet, "counted requests", (view, direction: Direction) =>
  countingLogs(view, direction, "http"),
);
const tcpLogs = recipe(outboundFacet, "counted connections", (view, direction: Direction) =>
  countingLogs(view, direction, "tcp"),
);

function countingLogs(view: View<OutboundFacet>, direction: Direction, protocol: Protocol): AccessLog[] {
  const setting = appliedSetting(view, direction);
  return setting && !dropsAll(setting, protocol) ? [agentLog(setting, direction, protocol)] : [];
}

/** Of the providers that are scraped, the first: two would count everything twice under one name. */
function appliedSetting(view: View<OutboundFacet>, direction: Direction): MetricsSetting | undefined {
  if (!isCountedByAgent(view.proxy)) return undefined;
  const settings = [...metricsSettings(view, modeOf(direction))];
  return settings.find(([name, { disabled }]) => findProvider(view, name)?.prometheus && !disabled)?.[1];
}

const isTcpMetric = (metric: string): boolean => metric.startsWith("tcp_");

function dropsAll({ overrides }: MetricsSetting, protocol: Protocol): boolean {
  const dropped = new Set(
    overrides.filter(({ disabled }) => disabled).map(({ metric }) => standardMetrics.get(metric)),
  );
  return standardMetrics
    .values()
    .filter((metric) => isTcpMetric(metric) === (protocol === "tcp"))
    .every((metric) => dropped.has(metric));
}

function agentLog(setting: MetricsSetting, direction: Direction, protocol: Protocol): AccessLog {
  const { changes, formats } = planChanges(setting, protocol);
  const plan: MetricPlan = { reporter: direction === "inbound" ? "destination" : "source", protocol, changes };
  const config = packAny(OpenTelemetryAccessLogConfigSchema, {
    commonConfig: {
      logName: telemetryCluster,
      grpcService: { targetSpecifier: { case: "envoyGrpc", value: { clusterName: telemetryCluster } } },
      transportApiVersion: ApiVersion.V3,
      bufferFlushInterval: seconds(1),
      bufferSizeBytes: 65_536,
    },
    disableBuiltinLabels: true,
    resourceAttributes: {
      values: [attribute([metricPlanAttribute, JSON.stringify(plan)])],
    },
    body: { value: { case: "stringValue", value: lineFormat(direction, protocol, formats) } },
    ...(protocol === "http" ? { attributes: { values: requestNoteFormats.map(attribute) } } : {}),
  });
  return create(AccessLogSchema, {
    name: "envoy.access_loggers.open_telemetry",
    configType: { case: "typedConfig", value: config },
  });
}

const attribute = ([key, value]: readonly [string, string]) => ({
  key,
  value: { value: { case: "stringValue" as const, value } },
});

/** Tags that the user sets become further columns; one whose expression has no counterpart in a log line is `unknown`. */
function planChanges(
  { overrides }: MetricsSetting,
  protocol: Protocol,
): { readonly changes: Record<string, MetricChange>; readonly formats: readonly string[] } {
  const formats: string[] = [];
  const column = (expression: string): number => {
    const format = tagFormat(expression) ?? "unknown";
    if (!formats.includes(format)) formats.push(format);
    return formats.indexOf(format);
  };
  const changes = new Map<string, MetricChange>();
  for (const { metric, disabled, remove, set } of overrides) {
    const name = standardMetrics.get(metric);
    if (name === undefined || isTcpMetric(name) !== (protocol === "tcp")) continue;
    const tags = Object.entries(set).map(([tag, expression]) => [tag, column(expression)] as const);
    changes.set(name, {
      ...(disabled ? { drop: true } : {}),
      ...(remove.length > 0 ? { remove } : {}),
      ...(tags.length > 0 ? { set: Object.fromEntries(tags) } : {}),
    });
  }
  return { changes: Object.fromEntries(changes), formats };
}

function onlyAtEnd(log: AccessLog): AccessLog {
  const atEnd = create(AccessLogFilterSchema, {
    filterSpecifier: { case: "logTypeFilter", value: { types: [AccessLogType.TcpConnectionEnd] } },
  });
  const filter: AccessLogFilter = log.filter
    ? create(AccessLogFilterSchema, {
        filterSpecifier: { case: "andFilter", value: { filters: [log.filter, atEnd] } },
      })
    : atEnd;
  return create(AccessLogSchema, { name: log.name, configType: log.configType, filter });
}
