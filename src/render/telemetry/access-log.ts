/** A proxy, a direction and where the log sits in; Envoy access loggers out. */

import { create } from "@bufbuild/protobuf";
import {
  type AccessLog,
  type AccessLogFilter,
  AccessLogFilterSchema,
  AccessLogSchema,
} from "../../gen/envoy/config/accesslog/v3/accesslog_pb.js";
import { ExpressionFilterSchema } from "../../gen/envoy/extensions/access_loggers/filters/cel/v3/cel_pb.js";
import { compareText } from "../../lib/index.ts";
import type { OutboundFacet } from "../../model/index.ts";
import { packAny } from "../build/any.ts";
import { outboundFacet } from "../facets.ts";
import type { Direction } from "../proxy/direction.ts";
import { recipe } from "../recipe.ts";
import type { View } from "../view.ts";
import { type Logger, type LogPlace, meshFileLogger, meshGrpcLogger, providerLogger } from "./logger.ts";
import { logSettings } from "./logging.ts";
import { findProvider } from "./provider.ts";
import { modeOf } from "./telemetry.ts";

export function accessLogs(view: View<OutboundFacet>, direction: Direction, place: LogPlace): AccessLog[] {
  return logsAt[place](view, direction);
}

const logs = (place: LogPlace) =>
  recipe(outboundFacet, `${place} access logs`, (view, direction: Direction) =>
    buildAccessLogs(view, direction, place),
  );
const logsAt = { http: logs("http"), tcp: logs("tcp"), listener: logs("listener") };

function buildAccessLogs(view: View<OutboundFacet>, direction: Direction, place: LogPlace): AccessLog[] {
  const mesh = view.mesh.settings();
  if (place === "listener" && mesh.disableEnvoyListenerLog) return [];
  const placeFilter = place === "listener" ? [noFilterChain()] : [];
  const configured = configuredLoggers(view, direction);
  if (configured.length === 0) {
    const loggers = [
      ...(mesh.accessLogFile ? [meshFileLogger(mesh, mesh.accessLogFile)] : []),
      ...(mesh.enableEnvoyAccessLogService ? [meshGrpcLogger(place)] : []),
    ];
    return loggers.map((logger) => accessLog(logger, placeFilter));
  }
  return configured.flatMap(({ logger, disabled, expression }) => {
    if (disabled) return [];
    return [accessLog(logger, expression === undefined ? placeFilter : [...placeFilter, celFilter(expression)])];
  });
}

interface Configured {
  readonly name: string;
  readonly logger: Logger;
  readonly disabled: boolean;
  readonly expression: string | undefined;
}

/** Providers that do not exist, or whose service is unknown, are as if they had not been named. */
function configuredLoggers(view: View<OutboundFacet>, direction: Direction): readonly Configured[] {
  const settings = [...(logSettings(view, modeOf(direction)) ?? [])];
  const found = settings.flatMap(([name, setting]) => {
    const provider = findProvider(view, name);
    const logger = provider && providerLogger(view, provider);
    return logger ? [{ name: provider.name ?? "", logger, ...setting }] : [];
  });
  return found.sort((a, b) => compareText(a.name, b.name));
}

function accessLog(logger: Logger, filters: readonly AccessLogFilter[]): AccessLog {
  const filter = allOf(filters);
  return create(AccessLogSchema, {
    name: logger.name,
    configType: { case: "typedConfig", value: logger.config },
    ...(filter ? { filter } : {}),
  });
}

function allOf(filters: readonly AccessLogFilter[]): AccessLogFilter | undefined {
  if (filters.length < 2) return filters[0];
  return create(AccessLogFilterSchema, { filterSpecifier: { case: "andFilter", value: { filters: [...filters] } } });
}

const noFilterChain = (): AccessLogFilter =>
  create(AccessLogFilterSchema, { filterSpecifier: { case: "responseFlagFilter", value: { flags: ["NR"] } } });

function celFilter(expression: string): AccessLogFilter {
  const value = packAny(ExpressionFilterSchema, { expression });
  return create(AccessLogFilterSchema, {
    filterSpecifier: {
      case: "extensionFilter",
      value: { name: "envoy.access_loggers.extension_filters.cel", configType: { case: "typedConfig", value } },
    },
  });
}
