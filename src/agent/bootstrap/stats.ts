/** Which of Envoy's statistics are kept, how their names become tags, and how often they are flushed: settings and annotations in, `stats_config` out. */
import { compareText, isRecord, type Logger, parseDuration, parseJson } from "../../lib/index.ts";
import type { ProxyConfigValues } from "../../model/index.ts";
import { defined, type Json, type JsonObject } from "./json.ts";

export interface StatsOptions {
  readonly proxyConfig: ProxyConfigValues;
  readonly annotations: Readonly<Record<string, string>>;
  readonly addresses: readonly string[];
  readonly metadataDiscovery: boolean;
  readonly exitOnZeroActiveConnections: boolean;
  readonly log: Logger;
}

/** What readiness, draining and Istio's own dashboards read. */
const requiredPrefixes = ["cluster_manager", "listener_manager", "server", "cluster.xds-grpc", "wasm"];
const requiredSuffixes = ["rbac.allowed", "rbac.denied", "shadow_allowed", "shadow_denied"];
const requiredPatterns = ["vhost\\..*\\.route\\..*"];

const leadingTags: readonly (readonly [string, string])[] = [
  ["cluster_name", "^cluster(\\.(.+);)"],
  ["http_conn_manager_prefix", "^http\\.(((?:[_.[:digit:]\\w]*|[_\\[\\]aAbBcCdDeEfF[:digit:]\\w\\:]*));\\.)"],
  ["thread_name", "^server(\\.(.+))\\.watchdog"],
  ["tcp_prefix", "^tcp\\.((.*?)\\.)\\w+?$"],
  ["response_code", "_rq(_(\\d{3}))$"],
  ["response_code_class", "_rq(_(\\dxx))$"],
  [
    "http_conn_manager_listener_prefix",
    "^listener(?=\\.).*?\\.http\\.(((?:[_.[:digit:]]*|[_\\[\\]aAbBcCdDeEfF[:digit:]]*))\\.)",
  ],
  ["listener_address", "^listener\\.(((?:[_.[:digit:]]*|[_\\[\\]aAbBcCdDeEfF[:digit:]]*))\\.)"],
  ["mongo_prefix", "^mongo\\.(.+?)\\.(collection|cmd|cx_|op_|delays_|decoding_)(.*?)$"],
];
const trailingTags: readonly (readonly [string, string])[] = [
  ["cache", "(cache\\.(.+?)\\.)"],
  ["component", "(component\\.(.+?)\\.)"],
  ["tag", "(tag\\.(.+?);\\.)"],
  ["wasm_filter", "(wasm_filter\\.(.+?)\\.)"],
  ["authz_enforce_result", "rbac(\\.(allowed|denied))"],
  ["authz_dry_run_action", "(\\.istio_dry_run_(allow|deny)_)"],
  ["authz_dry_run_result", "(\\.shadow_(allowed|denied))"],
];

export function statsConfig(options: StatsOptions): JsonObject {
  const extra = extraTags(options).map((tag) => [tag, `(${tag}=\\.=(.*?);\\.;)`] as const);
  const tags = [...leadingTags, ...extra, ...trailingTags];
  return defined({
    use_all_default_tags: false,
    stats_tags: tags.map(([tag_name, regex]) => ({ tag_name, regex })),
    histogram_bucket_settings: histogramBuckets(options),
    stats_matcher: { inclusion_list: { patterns: patterns(options) } },
  });
}

function extraTags({ proxyConfig, annotations }: StatsOptions): readonly string[] {
  const written = [
    ...(proxyConfig.extraStatTags ?? []),
    ...(annotations["sidecar.istio.io/extraStatTags"] ?? "").split(","),
  ];
  return [...new Set(written.filter((tag) => tag !== ""))];
}

function patterns(options: StatsOptions): readonly Json[] {
  const { proxyConfig, annotations } = options;
  const matcher = proxyConfig.proxyStatsMatcher;
  // An annotation takes the place of the settings' list; what is required is added to either.
  const list = (
    annotation: string,
    configured: readonly string[] | undefined,
    required: readonly string[],
  ): readonly string[] => {
    const text = annotations[annotation] ?? "";
    const chosen = text === "" ? (configured ?? []) : text.split(",");
    return [...chosen, ...required].flatMap((pattern) => withAddresses(pattern, options.addresses));
  };
  const suffixes = options.exitOnZeroActiveConnections
    ? [...requiredSuffixes, "downstream_cx_active"]
    : requiredSuffixes;
  return [
    { prefix: "reporter=" },
    ...(options.metadataDiscovery ? [{ prefix: "workload_discovery" }] : []),
    ...list("sidecar.istio.io/statsInclusionPrefixes", matcher?.inclusionPrefixes, requiredPrefixes).map((prefix) => ({
      prefix,
    })),
    ...list("sidecar.istio.io/statsInclusionSuffixes", matcher?.inclusionSuffixes, suffixes).map((suffix) => ({
      suffix,
    })),
    ...list("sidecar.istio.io/statsInclusionRegexps", matcher?.inclusionRegexps, requiredPatterns).map((regex) => ({
      safe_regex: { regex },
    })),
    { prefix: "component" },
    { prefix: "istio" },
  ];
}

/** `{pod_ip}` stands for each of the Pod's addresses. */
function withAddresses(pattern: string, addresses: readonly string[]): readonly string[] {
  return pattern.includes("{pod_ip}") ? addresses.map((address) => pattern.replaceAll("{pod_ip}", address)) : [pattern];
}

function histogramBuckets({ annotations, log }: StatsOptions): Json | undefined {
  const text = annotations["sidecar.istio.io/statsHistogramBuckets"];
  if (text === undefined) return undefined;
  try {
    const value = parseJson(text);
    if (!isRecord(value)) throw new TypeError("not an object");
    const entries = Object.entries(value).sort(([a], [b]) => compareText(a, b));
    const settings = entries.map(([prefix, buckets]) => ({ match: { prefix }, buckets: numbers(buckets) }));
    return settings.length > 0 ? settings : undefined;
  } catch {
    log.warn("the histogram buckets annotation cannot be read and is left out");
    return undefined;
  }
}

function numbers(value: unknown): readonly number[] {
  if (!Array.isArray(value) || value.some((item) => typeof item !== "number"))
    throw new TypeError("not a list of numbers");
  return value;
}

const defaultFlush = 5_000_000_000n;

/** Flushing and eviction; an eviction that is no multiple of the flush is refused by Envoy, and so is left out. */
export function statsIntervals({ annotations, log }: StatsOptions): JsonObject {
  const read = (name: string): bigint | undefined => {
    const text = annotations[name];
    if (text === undefined) return undefined;
    const nanos = parseDuration(text);
    if (nanos === undefined || nanos <= 0n) log.warn("an interval annotation cannot be read and is left out", { name });
    return nanos !== undefined && nanos > 0n ? nanos : undefined;
  };
  const flush = read("sidecar.istio.io/statsFlushInterval");
  const eviction = read("sidecar.istio.io/statsEvictionInterval");
  const fits = eviction !== undefined && eviction % (flush ?? defaultFlush) === 0n;
  if (eviction !== undefined && !fits)
    log.warn("the stats eviction interval is no multiple of the flush interval and is left out");
  return defined({
    stats_flush_interval: flush === undefined ? undefined : seconds(flush),
    stats_eviction_interval: fits ? `${eviction / 1_000_000_000n}s` : undefined,
  });
}

function seconds(nanos: bigint): string {
  return `${Number(nanos) / 1e9}s`;
}
