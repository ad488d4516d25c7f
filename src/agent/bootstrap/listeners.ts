/**
 * The static listeners of the bootstrap: Envoy's statistics (15090), readiness by way of the agent (15021), and the
 * metrics over mTLS that some ask for. Anyone may call them, so each answers GET of its own paths and nothing else
 * ([decision 23](../../../docs/decisions/0023-ports-anyone-may-call.md)).
 */
import { quotePattern } from "../../lib/index.ts";
import { mergedMetricsCluster } from "./clusters.ts";
import type { BootstrapContext } from "./context.ts";
import { defined, type Json, type JsonObject, typed } from "./json.ts";
import { sdsSecret } from "./tls.ts";

interface Route {
  readonly path: string;
  readonly cluster: string;
}

const statsRoute: Route = { path: "/stats/prometheus", cluster: "prometheus_stats" };

export function staticListeners(context: BootstrapContext): readonly JsonObject[] {
  const { network } = context;
  const onLocalhost = context.metricsOnLocalhost;
  const stats = {
    host: onLocalhost ? network.localhost : network.wildcard,
    also: onLocalhost ? network.otherLocalhost : network.otherWildcard,
    port: context.prometheusPort,
    chain: { filters: [httpFilter("stats", [statsRoute], context.compressStats ? compressors : [])] },
  };
  const ready = {
    host: network.wildcard,
    also: network.otherWildcard,
    port: context.statusPort,
    chain: { filters: [httpFilter("agent", [{ path: "/healthz/ready", cluster: "agent" }])] },
    listenerFilters: context.statusProxyProtocol ? [proxyProtocol] : undefined,
  };
  const secure = (port: number, prefix: string, routes: readonly Route[]): readonly JsonObject[] =>
    port === 0
      ? []
      : [
          listener({
            host: network.wildcard,
            port,
            chain: mutualChain(prefix, routes),
            listenerFilters: [tlsInspector],
          }),
        ];
  const agentRoutes = ["/stats/prometheus", "/metrics"].map((path) => ({ path, cluster: mergedMetricsCluster }));
  return [
    listener(stats),
    ...secure(context.secureMetricsPort, "secure_stats", [statsRoute]),
    ...secure(context.secureMergedMetricsPort, "secure_merged_stats", agentRoutes),
    listener(ready),
  ];
}

interface ListenerOptions {
  readonly host: string;
  /** The address of the other family, with dual stack. */
  readonly also?: string | undefined;
  readonly port: number;
  readonly chain: JsonObject;
  readonly listenerFilters?: readonly JsonObject[] | undefined;
}

/** Health and metrics must answer when connections are at their limit. */
function listener({ host, also, port, chain, listenerFilters }: ListenerOptions): JsonObject {
  const at = (address: string): JsonObject => ({ socket_address: { protocol: "TCP", address, port_value: port } });
  return defined({
    name: `${host}_${port}`,
    address: at(host),
    ignore_global_conn_limit: true,
    bypass_overload_manager: true,
    additional_addresses: also === undefined ? undefined : [{ address: at(also) }],
    listener_filters: listenerFilters,
    filter_chains: [chain],
  });
}

function httpFilter(statPrefix: string, routes: readonly Route[], filters: readonly JsonObject[] = []): JsonObject {
  const router = {
    name: "envoy.filters.http.router",
    typed_config: typed("envoy.extensions.filters.http.router.v3.Router"),
  };
  const matches = routes.map(({ path, cluster }) => ({ match: exactly(path), route: { cluster } }));
  return {
    name: "envoy.filters.network.http_connection_manager",
    typed_config: typed("envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", {
      codec_type: "AUTO",
      stat_prefix: statPrefix,
      ...patience,
      route_config: { virtual_hosts: [{ name: "backend", domains: ["*"], routes: matches }] },
      http_filters: [...filters, router],
    }),
  };
}

/**
 * What stands behind normalises a path and Envoy's match does not, so `/stats/prometheus/../../config_dump` must not pass.
 * `path` leaves a query and a fragment out of account; the header is the path as it was sent, and may have a query only.
 */
function exactly(path: string): JsonObject {
  const wholePath = { safe_regex: { regex: `${quotePattern(path)}(\\?[^#]*)?` } };
  return {
    path,
    headers: [
      { name: ":method", string_match: { exact: "GET" } },
      { name: ":path", string_match: wholePath },
    ],
  };
}

/** These listeners are outside Envoy's limit of connections, so what says nothing is let go. */
const patience: JsonObject = {
  common_http_protocol_options: { idle_timeout: "60s" },
  request_headers_timeout: "10s",
  request_timeout: "10s",
  http2_protocol_options: { max_concurrent_streams: 100 },
};

const contentTypes: Json = [
  "text/plain",
  "application/vnd.google.protobuf",
  "application/openmetrics-text",
  "application/openmetrics-protobuf",
];

const compressors: readonly JsonObject[] = [
  ["brotli", "Brotli"],
  ["zstd", "Zstd"],
  ["gzip", "Gzip"],
].map(([name = "", message = ""]) => ({
  name: `envoy.filters.http.compressor.${name}`,
  typed_config: typed("envoy.extensions.filters.http.compressor.v3.Compressor", {
    compressor_library: {
      name: `stats_${name}`,
      typed_config: typed(`envoy.extensions.compression.${name}.compressor.v3.${message}`),
    },
    response_direction_config: { common_config: { content_type: contentTypes } },
  }),
}));

const tlsInspector: JsonObject = {
  name: "envoy.filters.listener.tls_inspector",
  typed_config: typed("envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector"),
};

const proxyProtocol: JsonObject = {
  name: "envoy.listener.proxy_protocol",
  typed_config: typed("envoy.extensions.filters.listener.proxy_protocol.v3.ProxyProtocol", {
    allow_requests_without_proxy_protocol: true,
  }),
};

function mutualChain(statPrefix: string, routes: readonly Route[]): JsonObject {
  return {
    filter_chain_match: { transport_protocol: "tls" },
    transport_socket_connect_timeout: "10s",
    transport_socket: {
      name: "envoy.transport_sockets.tls",
      typed_config: typed("envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext", {
        require_client_certificate: true,
        common_tls_context: {
          tls_certificate_sds_secret_configs: [sdsSecret("default")],
          combined_validation_context: {
            default_validation_context: {},
            validation_context_sds_secret_config: sdsSecret("ROOTCA"),
          },
        },
      }),
    },
    filters: [httpFilter(statPrefix, routes)],
  };
}
