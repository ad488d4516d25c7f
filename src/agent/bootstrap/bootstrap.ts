/** The node and the proxy's settings in, Envoy's bootstrap out, as data: nothing a user wrote is ever pasted into text. */
import { join } from "node:path";
import { isRecord, type Logger, parseJson } from "../../lib/index.ts";
import type { ProxyConfigValues } from "../../model/index.ts";
import { staticClusters, tracerOf } from "./clusters.ts";
import { type BootstrapContext, type BootstrapOptions, contextOf } from "./context.ts";
import { defined, type Json, type JsonObject, socketAddress, typed } from "./json.ts";
import { staticListeners } from "./listeners.ts";
import type { Node } from "./node.ts";
import { serviceClusterName } from "./service-cluster.ts";
import { type StatsOptions, statsConfig, statsIntervals } from "./stats.ts";

export function buildBootstrap(options: BootstrapOptions): JsonObject {
  const { node, proxyConfig, log } = options;
  const waypoint = node.id.startsWith("waypoint~");
  const delta = waypoint || options.deltaXds;
  const metadataDiscovery = delta && (waypoint || node.metadata.METADATA_DISCOVERY === "true");
  const context = contextOf(options);
  const stats: StatsOptions = {
    proxyConfig,
    log,
    annotations: node.annotations,
    addresses: [...new Set(options.addresses)],
    metadataDiscovery,
    exitOnZeroActiveConnections: node.metadata.EXIT_ON_ZERO_ACTIVE_CONNECTIONS === "true",
  };
  return {
    application_log_config: { log_format: logFormat(options.logAsJson) },
    node: envoyNode(node, proxyConfig),
    layered_runtime: {
      layers: [
        { name: "global config", static_layer: runtimeFlags(options) },
        { name: "admin", admin_layer: {} },
      ],
    },
    bootstrap_extensions: [...(metadataDiscovery ? [metadataDiscoveryExtension] : []), internalListener],
    ...statsIntervals(stats),
    stats_config: statsConfig(stats),
    admin: admin(context),
    dynamic_resources: dynamicResources(delta),
    static_resources: { clusters: staticClusters(context), listeners: staticListeners(context) },
    overload_manager: { resource_monitors: [connectionLimit(proxyConfig)] },
    ...tracing(context),
    ...statsSinks(context),
    ...clusterManager(context),
    deferred_stat_options: { enable_deferred_creation_stats: true },
  };
}

function logFormat(asJson: boolean): JsonObject {
  if (!asJson) return { text_format: "%Y-%m-%dT%T.%fZ\t%l\tenvoy %n %g:%#\t%v\tthread=%t" };
  return {
    json_format: { time: "%Y-%m-%dT%T.%fZ", level: "%l", scope: "envoy %n", msg: "%j", caller: "%g:%#", thread: "%t" },
  };
}

function envoyNode({ id, metadata, labels, locality }: Node, proxyConfig: ProxyConfigValues): JsonObject {
  const text = (key: string): string => (typeof metadata[key] === "string" ? metadata[key] : "");
  const cluster = serviceClusterName({
    proxyConfig,
    labels,
    namespace: text("NAMESPACE"),
    workloadName: text("WORKLOAD_NAME"),
  });
  const named = { region: locality.region, zone: locality.zone, sub_zone: locality.subZone };
  return {
    id,
    cluster,
    locality: Object.fromEntries(Object.entries(named).filter(([, value]) => value !== "")),
    metadata,
  };
}

/** Istio's defaults under the user's values; an empty value takes a default away. */
function runtimeFlags({ proxyConfig, compliancePolicy, stripFragment }: BootstrapOptions): JsonObject {
  const flags = new Map<string, Json>([
    ["re2.max_program_size.error_level", "32768"],
    ["envoy.deprecated_features:envoy.config.listener.v3.Listener.hidden_envoy_deprecated_use_original_dst", true],
    ["envoy.reloadable_features.http_reject_path_with_fragment", false],
    ["envoy.reloadable_features.fixed_heap_use_allocated", true],
    // Envoy issue 45212.
    ["envoy.reloadable_features.coalesce_lb_rebuilds_on_batch_update", false],
  ]);
  if (compliancePolicy === "fips-140-2") flags.set("envoy.reloadable_features.google_grpc_disable_tls_13", true);
  if (!stripFragment) flags.set("envoy.reloadable_features.http_strip_fragment_from_path_unsafe_if_disabled", "false");
  for (const [name, value] of Object.entries(proxyConfig.runtimeValues ?? {})) {
    if (value === "") flags.delete(name);
    else flags.set(name, value === "true" ? true : value === "false" ? false : value);
  }
  return Object.fromEntries(flags);
}

function typedStruct(type: string, value: JsonObject): JsonObject {
  return typed("udpa.type.v1.TypedStruct", { type_url: `type.googleapis.com/${type}`, value });
}

const metadataDiscoveryExtension: JsonObject = {
  name: "metadata_discovery",
  typed_config: typedStruct("istio.workload.BootstrapExtension", { config_source: { ads: {} } }),
};

const internalListener: JsonObject = {
  name: "envoy.bootstrap.internal_listener",
  typed_config: typedStruct("envoy.extensions.bootstrap.internal_listener.v3.InternalListener", { buffer_size_kb: 64 }),
};

/** On a socket: to a port on loopback, this Envoy itself could be led by whoever writes endpoints or answers its DNS. */
function admin({ adminSocket }: BootstrapContext): JsonObject {
  const log = typed("envoy.extensions.access_loggers.file.v3.FileAccessLog", { path: "/dev/null" });
  return {
    access_log: [{ name: "envoy.access_loggers.file", typed_config: log }],
    profile_path: "/var/lib/istio/data/envoy.prof",
    address: { pipe: { path: adminSocket, mode: 0o600 } },
  };
}

function dynamicResources(delta: boolean): JsonObject {
  const overAds = { ads: {}, initial_fetch_timeout: "0s", resource_api_version: "V3" };
  return {
    lds_config: overAds,
    cds_config: overAds,
    ads_config: {
      api_type: delta ? "DELTA_GRPC" : "GRPC",
      set_node_on_first_message_only: true,
      transport_api_version: "V3",
      grpc_services: [{ envoy_grpc: { cluster_name: "xds-grpc" } }],
    },
  };
}

/** In this order: the settings' own field, the metadata, the old runtime value, no limit to speak of. */
function connectionLimit(config: ProxyConfigValues): JsonObject {
  const whole = (text: string | undefined): number | undefined =>
    text !== undefined && /^[+-]?\d+$/.test(text) ? Number(text) : undefined;
  const limit =
    (config.connectionSettings?.globalDownstreamConnectionLimit || undefined) ??
    whole(config.proxyMetadata?.ISTIO_META_GLOBAL_DOWNSTREAM_MAX_CONNECTIONS) ??
    whole(config.runtimeValues?.["overload.global_downstream_max_connections"]) ??
    2 ** 31 - 1;
  return {
    name: "envoy.resource_monitors.global_downstream_max_connections",
    typed_config: typed("envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig", {
      max_active_downstream_connections: limit,
    }),
  };
}

/** Where the agent puts the Lightstep token, for Envoy to read. */
export function lightstepTokenFile(configPath: string): string {
  return join(configPath, "lightstep_access_token.txt");
}

function tracing(context: BootstrapContext): JsonObject {
  const tracer = tracerOf(context.proxyConfig);
  if (!tracer) return {};
  const collector = { collector_cluster: tracer.cluster };
  const http = (name: string, config: JsonObject): JsonObject => ({
    tracing: { http: { name: `envoy.tracers.${name}`, typed_config: config } },
  });
  switch (tracer.kind) {
    case "zipkin":
      return http("zipkin", typed("envoy.config.trace.v3.ZipkinConfig", { ...collector, ...zipkinSpans }));
    case "lightstep": {
      const file = lightstepTokenFile(context.proxyConfig.configPath ?? "");
      return http(
        "lightstep",
        typed("envoy.config.trace.v3.LightstepConfig", { ...collector, access_token_file: file }),
      );
    }
    case "datadog": {
      const service = envoyNode(context.node, context.proxyConfig).cluster ?? "";
      return http("datadog", typed("envoy.config.trace.v3.DatadogConfig", { ...collector, service_name: service }));
    }
  }
}

const zipkinSpans: JsonObject = {
  collector_endpoint: "/api/v2/spans",
  collector_endpoint_version: "HTTP_JSON",
  trace_id_128bit: true,
  shared_span_context: false,
};

function statsSinks({ proxyConfig, hostIp }: BootstrapContext): JsonObject {
  const sinks: JsonObject[] = [];
  if (proxyConfig.envoyMetricsService?.address)
    sinks.push({
      name: "envoy.stat_sinks.metrics_service",
      typed_config: typed("envoy.config.metrics.v3.MetricsServiceConfig", {
        transport_api_version: "V3",
        grpc_service: { envoy_grpc: { cluster_name: "envoy_metrics_service" } },
      }),
    });
  const statsd = proxyConfig.statsdUdpAddress ? socketAddress(proxyConfig.statsdUdpAddress, hostIp) : undefined;
  if (statsd)
    sinks.push({
      name: "envoy.stat_sinks.statsd",
      typed_config: typed("envoy.config.metrics.v3.StatsdSink", { address: { socket_address: statsd } }),
    });
  return sinks.length > 0 ? { stats_sinks: sinks } : {};
}

function clusterManager({ node, selfDiscovery, log }: BootstrapContext): JsonObject {
  const path = node.metadata.OUTLIER_LOG_PATH;
  const loadStats = loadStatsConfig(node.metadata.LOAD_STATS_CONFIG_JSON, log);
  if (path === undefined && loadStats === undefined && !selfDiscovery) return {};
  return {
    cluster_manager: defined({
      local_cluster_name: selfDiscovery ? "local_cluster" : undefined,
      outlier_detection: path === undefined ? undefined : { event_log_path: path },
      load_stats_config: loadStats,
      enable_deferred_cluster_creation: true,
    }),
  };
}

function loadStatsConfig(text: Json | undefined, log: Logger): Json | undefined {
  if (typeof text !== "string") return undefined;
  try {
    const value = parseJson(text);
    if (isRecord(value)) return value as JsonObject;
  } catch {
    // Told below, together with what is JSON but no object.
  }
  log.warn("ISTIO_META_LOAD_STATS_CONFIG_JSON is no JSON object and is left out");
  return undefined;
}
