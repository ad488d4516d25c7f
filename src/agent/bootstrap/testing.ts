/** For tests: Istio's goldens, read and brought into the form that ours has on purpose. */
import { isRecord } from "../../lib/index.ts";
import type { Json, JsonObject } from "./json.ts";

type Value = string | number | boolean | { [name: string]: Value } | Value[];

const durations = new Set(["drainDuration", "terminationDrainDuration", "interval", "time"]);
const wrappers = new Set([
  "statsCompression",
  "concurrency",
  "globalDownstreamConnectionLimit",
  "holdApplicationUntilProxyStarts",
]);
const maps = new Set(["runtimeValues", "proxyMetadata"]);

/** The text form of protobuf, as far as Istio's ProxyConfig goldens use it, read into protobuf's JSON form. */
export function parseTextProto(text: string): Record<string, Value> {
  const tokens = [...text.replace(/^\s*#.*$/gm, "").matchAll(/"((?:[^"\\]|\\.)*)"|[{}[\]:,;]|[^\s{}[\]:,;"]+/g)].map(
    ([token]) => token,
  );
  return readFields(tokens);
}

function readFields(tokens: string[]): Record<string, Value> {
  const out: Record<string, Value> = {};
  for (let name = tokens.shift(); name !== undefined && name !== "}"; name = tokens.shift()) {
    if (name === "," || name === ";") continue;
    const key = name.replace(/_([a-z0-9])/g, (_, c: string) => c.toUpperCase());
    if (tokens[0] === ":") tokens.shift();
    out[key] = convert(key, readValue(tokens));
  }
  return out;
}

function readValue(tokens: string[]): Value {
  const token = tokens.shift() ?? "";
  if (token === "{") return readFields(tokens);
  if (token === "[") {
    const list: Value[] = [];
    while (tokens[0] !== "]" && tokens.length > 0) {
      if (tokens[0] === ",") tokens.shift();
      else list.push(readValue(tokens));
    }
    tokens.shift();
    return list;
  }
  if (token.startsWith('"')) return JSON.parse(token) as string;
  if (token === "true" || token === "false") return token === "true";
  return /^-?[\d.]+$/.test(token) ? Number(token) : token;
}

function convert(key: string, value: Value): Value {
  if (typeof value !== "object") return value;
  if (maps.has(key)) {
    const entries = (Array.isArray(value) ? value : [value]) as { key: string; value: Value }[];
    return Object.fromEntries(entries.map((entry) => [entry.key, entry.value]));
  }
  if (Array.isArray(value)) return value;
  if (durations.has(key)) return `${value.seconds ?? 0}s`;
  return wrappers.has(key) && value.value !== undefined ? value.value : value;
}

/** What decision 23 changes in Istio's bootstrap: sockets for ports on loopback, exact paths for prefixes, and patience. */
export function inOurForm(bootstrap: JsonObject): Json {
  const at = (name: string): JsonObject => ({ pipe: { path: `/tmp/${name}` } });
  const places = new Map([
    ["prometheus_stats", at("ADMIN")],
    ["agent", at("READY")],
    ["agent_metrics", at("METRICS")],
  ]);
  return rewrite(bootstrap, (object) => {
    const { name, clusters, cluster_name, admin, codec_type, prefix, filter_chain_match } = object;
    if (isRecord(admin))
      return { ...object, admin: { ...admin, address: { pipe: { path: "/tmp/ADMIN", mode: 0o600 } } } };
    if (typeof cluster_name === "string" && places.has(cluster_name)) {
      const endpoint = { address: places.get(cluster_name) ?? {} };
      return { cluster_name, endpoints: [{ lb_endpoints: [{ endpoint }] }] };
    }
    if (Array.isArray(clusters) && JSON.stringify(object).includes("secure_merged_stats"))
      return { ...object, clusters: clusters.flatMap((one) => (isAgent(one) ? [one, metricsCluster(one)] : [one])) };
    if (codec_type === "AUTO") return { ...object, ...patience(object.stat_prefix === "secure_merged_stats", object) };
    if (typeof prefix === "string" && prefix.startsWith("/")) return exactly(prefix);
    if (filter_chain_match !== undefined && name === undefined)
      return { ...object, transport_socket_connect_timeout: "10s" };
    return object;
  });
}

const isAgent = (value: Json): value is JsonObject => isRecord(value) && value.name === "agent";

const metricsCluster = (agent: JsonObject): Json =>
  JSON.parse(JSON.stringify(agent).replaceAll('"agent', '"agent_metrics')) as Json;

function patience(toMetrics: boolean, { route_config = null }: JsonObject): JsonObject {
  return {
    route_config: toMetrics
      ? (JSON.parse(JSON.stringify(route_config).replaceAll('"agent"', '"agent_metrics"')) as Json)
      : route_config,
    common_http_protocol_options: { idle_timeout: "60s" },
    request_headers_timeout: "10s",
    request_timeout: "10s",
    http2_protocol_options: { max_concurrent_streams: 100 },
  };
}

function exactly(path: string): JsonObject {
  return {
    path,
    headers: [
      { name: ":method", string_match: { exact: "GET" } },
      { name: ":path", string_match: { safe_regex: { regex: `${path}(\\?[^#]*)?` } } },
    ],
  };
}

/** From the outside in. */
function rewrite(value: Json, change: (object: JsonObject) => JsonObject): Json {
  if (Array.isArray(value)) return value.map((item) => rewrite(item, change));
  if (!isRecord(value)) return value;
  const entries = Object.entries(change(value as JsonObject)) as [string, Json][];
  return Object.fromEntries(entries.map(([key, item]) => [key, rewrite(item, change)]));
}
