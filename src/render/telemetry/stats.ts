/** A proxy and a direction in; the filters that report Istio's standard metrics out: `istio.stats`. */
import type { Any } from "@bufbuild/protobuf/wkt";
import type { Filter } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import type { HttpFilter } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { PluginConfigSchema } from "../../gen/istio/stats_pb.js";
import { type OutboundFacet, standardMetrics } from "../../model/index.ts";
import { packAny } from "../build/any.ts";
import { duration } from "../build/duration.ts";
import { httpFilter } from "../build/http-filter.ts";
import { networkFilter } from "../build/listener-chain.ts";
import { outboundFacet } from "../facets.ts";
import type { Direction } from "../proxy/direction.ts";
import { hasIstioFilters } from "../proxy/profile.ts";
import { recipe } from "../recipe.ts";
import type { View } from "../view.ts";
import { type MetricsSetting, metricsSettings } from "./metrics.ts";
import { findProvider } from "./provider.ts";
import { modeOf } from "./telemetry.ts";

const filterName = "istio.stats";

export function statsHttpFilters(view: View<OutboundFacet>, direction: Direction): readonly HttpFilter[] {
  return statsConfigs(view, direction).map((config) => httpFilter(filterName, config));
}

export function statsNetworkFilters(view: View<OutboundFacet>, direction: Direction): readonly Filter[] {
  return statsConfigs(view, direction).map((config) => networkFilter(filterName, config));
}

/** One per metrics provider that is scraped; a stock Envoy has no such filter. */
const statsConfigs = recipe(outboundFacet, "metrics", (view, direction: Direction): readonly Any[] => {
  if (!hasIstioFilters(view.proxy)) return [];
  return [...metricsSettings(view, modeOf(direction))].flatMap(([name, setting]) =>
    findProvider(view, name)?.prometheus && !setting.disabled ? [statsConfig(setting, direction)] : [],
  );
});

function statsConfig(setting: MetricsSetting, direction: Direction): Any {
  const interval = duration(setting.reportingInterval);
  return packAny(PluginConfigSchema, {
    // Where anybody can send any Host, it must not become a label.
    disableHostHeaderFallback: direction !== "outbound",
    ...(interval ? { tcpReportingDuration: interval } : {}),
    metrics: setting.overrides.map(({ metric, disabled, remove, set }) => ({
      name: standardMetrics.get(metric) ?? metric,
      dimensions: { ...set },
      tagsToRemove: [...remove],
      drop: disabled,
    })),
  });
}
