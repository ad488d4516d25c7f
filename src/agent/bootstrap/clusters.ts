/** The static clusters of the bootstrap: the agent's sockets, Envoy's own statistics, and the telemetry services the settings name. */
import {
  type ConnectionPoolTcpKeepalive,
  type ProxyConfigValues,
  type RemoteService,
  telemetryCluster,
} from "../../model/index.ts";
import type { BootstrapContext } from "./context.ts";
import { defined, type Json, type JsonObject, socketAddress, typed } from "./json.ts";
import { upstreamTls } from "./tls.ts";

const http2 = {
  typed_extension_protocol_options: {
    "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": typed(
      "envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
      {
        explicit_http_config: { http2_protocol_options: {} },
      },
    ),
  },
};

/** The agent's metrics only, as `agent` is its readiness only: Envoy reaches nothing of the agent that takes orders. */
export const mergedMetricsCluster = "agent_metrics";

export function staticClusters(context: BootstrapContext): readonly JsonObject[] {
  const { proxyConfig } = context;
  const pipe = (path: string): JsonObject => ({ pipe: { path } });
  return [
    cluster("prometheus_stats", "0.250s", pipe(context.adminSocket)),
    cluster("agent", "0.250s", pipe(context.readinessSocket)),
    ...(context.secureMergedMetricsPort === 0
      ? []
      : [cluster(mergedMetricsCluster, "0.250s", pipe(context.mergedMetricsSocket))]),
    cluster("sds-grpc", "1s", pipe(context.sdsSocket), http2),
    ...(context.fileSdsSocket === "" ? [] : [cluster("sds-files-grpc", "1s", pipe(context.fileSdsSocket), http2)]),
    cluster("xds-grpc", "1s", pipe(context.xdsSocket), { ...xdsLimits, ...http2 }),
    ...(context.telemetrySocket === undefined ? [] : [telemetry(pipe(context.telemetrySocket))]),
    ...tracingCluster(context),
    ...serviceCluster(context, "envoy_metrics_service", proxyConfig.envoyMetricsService),
    ...serviceCluster(context, "envoy_accesslog_service", proxyConfig.envoyAccessLogService),
    ...(context.selfDiscovery ? [localCluster] : []),
  ];
}

/** Batches that the agent does not take in time are dropped, not heaped up. */
function telemetry(address: JsonObject): JsonObject {
  const thresholds = [{ priority: "DEFAULT", max_pending_requests: 64, max_requests: 64 }];
  return cluster(telemetryCluster, "1s", address, { circuit_breakers: { thresholds }, ...http2 });
}

function cluster(name: string, connectTimeout: string, address: JsonObject, more: JsonObject = {}): JsonObject {
  return {
    name,
    alt_stat_name: `${name};`,
    type: "STATIC",
    connect_timeout: connectTimeout,
    lb_policy: "ROUND_ROBIN",
    load_assignment: assignment(name, address),
    ...more,
  };
}

function assignment(name: string, address: JsonObject): JsonObject {
  return { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }] };
}

const unlimited = { max_connections: 100_000, max_pending_requests: 100_000, max_requests: 100_000 };
const xdsLimits: JsonObject = {
  circuit_breakers: {
    thresholds: [
      { priority: "DEFAULT", ...unlimited },
      { priority: "HIGH", ...unlimited },
    ],
  },
  upstream_connection_options: { tcp_keepalive: { keepalive_time: 300 } },
  max_requests_per_connection: 1,
};

/** Zone-aware balancing needs to know where its own peers are. */
const localCluster: JsonObject = {
  name: "local_cluster",
  alt_stat_name: "local_cluster;",
  type: "EDS",
  connect_timeout: "1s",
  load_balancing_policy: {
    policies: [
      {
        typed_extension_config: {
          name: "envoy.load_balancing_policies.least_request",
          typed_config: typed("envoy.extensions.load_balancing_policies.least_request.v3.LeastRequest", {
            locality_lb_config: { zone_aware_lb_config: { min_cluster_size: "1" } },
          }),
        },
      },
    ],
  },
  eds_cluster_config: { eds_config: { ads: {}, resource_api_version: "V3" }, service_name: "local_cluster" },
};

function dnsCluster(context: BootstrapContext, name: string, address: JsonObject, more: JsonObject): JsonObject {
  return {
    name,
    alt_stat_name: `${name};`,
    type: "STRICT_DNS",
    respect_dns_ttl: true,
    dns_lookup_family: context.network.dnsLookupFamily,
    connect_timeout: "1s",
    lb_policy: "ROUND_ROBIN",
    load_assignment: assignment(name, { socket_address: address }),
    ...more,
  };
}

/** The tracer that the settings name and Envoy still has built in, with its cluster's name and address. */
export function tracerOf(
  config: ProxyConfigValues,
):
  | { readonly kind: "zipkin" | "lightstep" | "datadog"; readonly cluster: string; readonly address: string }
  | undefined {
  const { zipkin, lightstep, datadog } = config.tracing ?? {};
  if (zipkin?.address) return { kind: "zipkin", cluster: "zipkin", address: zipkin.address };
  if (lightstep?.address) return { kind: "lightstep", cluster: "lightstep", address: lightstep.address };
  return datadog?.address ? { kind: "datadog", cluster: "datadog_agent", address: datadog.address } : undefined;
}

function tracingCluster(context: BootstrapContext): readonly JsonObject[] {
  const tracer = tracerOf(context.proxyConfig);
  const address = tracer && socketAddress(tracer.address, context.hostIp);
  if (!tracer || !address) return [];
  const overHttp2 = tracer.kind === "lightstep";
  const settings = context.proxyConfig.tracing?.tlsSettings;
  const transport = upstreamTls({ settings, defaultSni: "tracer", http2: overHttp2, metadata: context.node.metadata });
  const more = {
    ...defined({ transport_socket: transport, dns_refresh_rate: tracer.kind === "zipkin" ? "30s" : undefined }),
    ...(overHttp2 ? http2 : {}),
  };
  return [dnsCluster(context, tracer.cluster, address, more)];
}

function serviceCluster(
  context: BootstrapContext,
  name: string,
  service: RemoteService | undefined,
): readonly JsonObject[] {
  const address = service?.address ? socketAddress(service.address, context.hostIp) : undefined;
  if (!service || !address) return [];
  const transport = upstreamTls({
    settings: service.tlsSettings,
    defaultSni: name,
    http2: true,
    metadata: context.node.metadata,
  });
  const more = {
    ...defined({ transport_socket: transport, upstream_connection_options: keepalive(service.tcpKeepalive) }),
    ...http2,
  };
  return [dnsCluster(context, name, address, more)];
}

function keepalive(settings: ConnectionPoolTcpKeepalive | undefined): Json | undefined {
  if (!settings) return undefined;
  const wholeSeconds = (text: string | undefined): number | undefined =>
    Math.trunc(Number(text?.replace(/s$/, ""))) || undefined;
  return {
    tcp_keepalive: defined({
      keepalive_probes: settings.probes || undefined,
      keepalive_time: wholeSeconds(settings.time),
      keepalive_interval: wholeSeconds(settings.interval),
    }),
  };
}
