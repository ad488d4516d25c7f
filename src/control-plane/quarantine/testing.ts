/** For tests: EnvoyFilters that are sound by their schema, and that Envoy refuses, each for a reason of its own. */

interface Patch {
  readonly applyTo: string;
  readonly match?: object;
  readonly patch: { readonly operation: string; readonly value: object };
}

const type = (name: string): string => `type.googleapis.com/envoy.${name}`;

const httpFilter = (name: string, config: object): Patch => ({
  applyTo: "HTTP_FILTER",
  match: { context: "GATEWAY" },
  patch: { operation: "INSERT_FIRST", value: { name: `test.${name}`, typed_config: config } },
});
const manager = (config: object): Patch => ({
  applyTo: "NETWORK_FILTER",
  match: { context: "GATEWAY", listener: { filterChain: { filter: { name: managerName } } } },
  patch: {
    operation: "MERGE",
    value: {
      name: managerName,
      typed_config: {
        "@type": type("extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"),
        ...config,
      },
    },
  },
});
const managerName = "envoy.filters.network.http_connection_manager";
const added = (applyTo: string, value: object): Patch => ({
  applyTo,
  match: { context: "GATEWAY" },
  patch: { operation: "ADD", value },
});
const cluster = (value: object): Patch => added("CLUSTER", { connect_timeout: "1s", ...value });
const route = (value: object): Patch => ({
  applyTo: "HTTP_ROUTE",
  match: { context: "GATEWAY" },
  patch: { operation: "INSERT_FIRST", value: { match: { prefix: "/x" }, direct_response: { status: 200 }, ...value } },
});
const address = (text: string, port: number) => ({ socket_address: { address: text, port_value: port } });
const tls = (context: object) => ({
  name: "tls",
  typed_config: {
    "@type": type("extensions.transport_sockets.tls.v3.UpstreamTlsContext"),
    common_tls_context: context,
  },
});
const endpoint = { endpoint: { address: address("127.0.0.1", 1) } };
const logged = (format: string) => ({
  access_log: [
    {
      name: "file",
      typed_config: {
        "@type": type("extensions.access_loggers.file.v3.FileAccessLog"),
        path: "/dev/null",
        log_format: { text_format_source: { inline_string: format } },
      },
    },
  ],
});

/** What Envoy says of each. */
export const refusedPatches: Readonly<Record<string, readonly [Patch, RegExp]>> = {
  "lua-syntax": [
    httpFilter("lua", {
      "@type": type("extensions.filters.http.lua.v3.Lua"),
      default_source_code: { inline_string: "function (" },
    }),
    /script load error/,
  ],
  "unknown-filter": [
    httpFilter("unknown", { "@type": "type.googleapis.com/xds.type.v3.TypedStruct", type_url: "x.y/no.such.Filter" }),
    /Didn't find a registered implementation/,
  ],
  "rate-limit-interval": [
    httpFilter("limit", {
      "@type": type("extensions.filters.http.local_ratelimit.v3.LocalRateLimit"),
      stat_prefix: "x",
      token_bucket: { max_tokens: 1, fill_interval: "0.001s" },
    }),
    /fill timer must be >= 50ms/,
  ],
  "rbac-regex": [
    httpFilter("rbac", {
      "@type": type("extensions.filters.http.rbac.v3.RBAC"),
      rules: {
        policies: {
          p: {
            principals: [{ any: true }],
            permissions: [{ header: { name: "x", string_match: { safe_regex: { regex: "(" } } } }],
          },
        },
      },
    }),
    /missing \)/,
  ],
  "jwt-provider": [
    httpFilter("jwt", {
      "@type": type("extensions.filters.http.jwt_authn.v3.JwtAuthentication"),
      rules: [{ match: { prefix: "/" }, requires: { provider_name: "none" } }],
    }),
    /Required provider \['none'\] is not configured/,
  ],
  "header-rules": [
    httpFilter("metadata", {
      "@type": type("extensions.filters.http.header_to_metadata.v3.Config"),
      request_rules: [{ header: "x" }],
    }),
    /header/i,
  ],
  "after-router": [
    {
      applyTo: "HTTP_FILTER",
      match: { context: "GATEWAY" },
      patch: {
        operation: "ADD",
        value: {
          name: "test.last",
          typed_config: { "@type": type("extensions.filters.http.cors.v3.Cors") },
        },
      },
    },
    /terminal filter/,
  ],
  "log-format": [manager(logged("%NO_SUCH_THING%")), /NO_SUCH_THING/],
  "log-unterminated": [manager(logged("%REQ(")), /REQ/],
  "two-route-sources": [manager({ upgrade_configs: [{ upgrade_type: "a" }, { upgrade_type: "A" }] }), /upgrade/i],
  "same-chain": [
    {
      applyTo: "FILTER_CHAIN",
      match: { context: "GATEWAY" },
      patch: {
        operation: "ADD",
        value: {
          filters: [
            {
              name: "x",
              typed_config: {
                "@type": type("extensions.filters.network.tcp_proxy.v3.TcpProxy"),
                stat_prefix: "x",
                cluster: "BlackHoleCluster",
              },
            },
          ],
        },
      },
    },
    /same matching rules|overlapping|duplicate/,
  ],
  "listener-filter": [
    {
      applyTo: "LISTENER_FILTER",
      match: { context: "GATEWAY" },
      patch: {
        operation: "ADD",
        value: {
          name: "x",
          typed_config: { "@type": "type.googleapis.com/xds.type.v3.TypedStruct", type_url: "x.y/no.such.Listener" },
        },
      },
    },
    /Didn't find a registered implementation/,
  ],
  "listener-address": [
    added("LISTENER", { name: "bad-address", address: address("nowhere", 1), filter_chains: [{}] }),
    /malformed IP address/,
  ],
  "listener-empty": [added("LISTENER", { name: "empty", address: address("127.0.0.1", 1) }), /no filter chains/],
  "cluster-type": [cluster({ name: "odd-type", cluster_type: { name: "no.such.type" } }), /registered cluster factory/],
  "cluster-timeout": [cluster({ name: "no-time", type: "STATIC", connect_timeout: "-1s" }), /duration|ConnectTimeout/i],
  "cluster-address": [
    cluster({
      name: "bad-endpoint",
      type: "STATIC",
      load_assignment: {
        cluster_name: "bad-endpoint",
        endpoints: [{ lb_endpoints: [{ endpoint: { address: address("nowhere", 1) } }] }],
      },
    }),
    /malformed IP address/,
  ],
  "cluster-ring": [
    cluster({
      name: "ring",
      type: "STATIC",
      lb_policy: "RING_HASH",
      ring_hash_lb_config: { minimum_ring_size: 100, maximum_ring_size: 10 },
    }),
    /ring/,
  ],
  "cluster-dns": [
    cluster({
      name: "dns",
      type: "LOGICAL_DNS",
      load_assignment: { cluster_name: "dns", endpoints: [{ lb_endpoints: [endpoint, endpoint] }] },
    }),
    /LOGICAL_DNS/,
  ],
  "cluster-cipher": [
    cluster({ name: "cipher", type: "STATIC", transport_socket: tls({ tls_params: { cipher_suites: ["NOPE"] } }) }),
    /cipher/,
  ],
  "cluster-ca": [
    cluster({
      name: "ca",
      type: "STATIC",
      transport_socket: tls({ validation_context: { trusted_ca: { inline_string: "no certificate" } } }),
    }),
    /trusted CA/,
  ],
  "cluster-health": [
    cluster({
      name: "health",
      type: "STATIC",
      health_checks: [
        {
          timeout: "1s",
          interval: "1s",
          unhealthy_threshold: 1,
          healthy_threshold: 1,
          custom_health_check: { name: "no.such.checker" },
        },
      ],
    }),
    /no\.such\.checker|Didn't find/,
  ],
  "route-regex": [route({ match: { safe_regex: { regex: "(" } } }), /missing \)/],
  "route-header": [
    route({ response_headers_to_add: [{ header: { key: "x", value: "%NO_SUCH_FIELD%" } }] }),
    /NO_SUCH_FIELD/,
  ],
  "route-domains": [
    {
      applyTo: "VIRTUAL_HOST",
      match: { context: "GATEWAY" },
      patch: { operation: "ADD", value: { name: "again", domains: ["twice.example.com", "twice.example.com"] } },
    },
    /twice\.example\.com|unique/i,
  ],
};
