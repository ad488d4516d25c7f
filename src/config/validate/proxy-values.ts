/** ProxyConfig with its defaults filled in, in; what is wrong with it into the report. */
import { parseDuration } from "../../lib/index.ts";
import type { PrivateKeyProvider, ProxyConfigConnectionSettings, ProxyConfigValues } from "../../model/index.ts";
import { isIp } from "./addresses.ts";
import { fqdnError, portError } from "./names.ts";
import { quote, type Report } from "./report.ts";
import { checkClientTls } from "./traffic-policy.ts";
import { durationError, isSet } from "./values.ts";

export function checkProxyValues(report: Report, proxy: ProxyConfigValues): void {
  if (!isSet(proxy.configPath)) report.at("configPath").error("config path must be set");
  if (!isSet(proxy.binaryPath)) report.at("binaryPath").error("binary path must be set");
  if (proxy.tracingServiceName === undefined && !isSet(proxy.serviceCluster))
    report.error(
      proxy.serviceCluster === undefined
        ? "oneof service cluster or tracing service name must be specified"
        : "service cluster must be specified",
    );
  checkDrain(report.at("drainDuration"), proxy.drainDuration ?? "0s");
  if (!isSet(proxy.discoveryAddress))
    report.at("discoveryAddress").error("discovery address must be set to the proxy discovery service");
  else say(report.at("discoveryAddress"), "invalid discovery address", hostPortError(proxy.discoveryAddress));
  checkTracing(report.at("tracing"), proxy);
  checkAddresses(report, proxy);
  say(report.at("proxyAdminPort"), "invalid proxy admin port", portError(proxy.proxyAdminPort ?? 0));
  say(report.at("statusPort"), "invalid status port", portError(proxy.statusPort ?? 0));
  if (proxy.privateKeyProvider) checkKeyProvider(report.at("privateKeyProvider"), proxy.privateKeyProvider);
  if (proxy.connectionSettings) checkConnectionSettings(report.at("connectionSettings"), proxy.connectionSettings);
  if (proxy.proxyMetadata && Object.hasOwn(proxy.proxyMetadata, "ISTIO_META_DNS_AUTO_ALLOCATE"))
    report
      .at("proxyMetadata")
      .warn(
        "'ISTIO_META_DNS_AUTO_ALLOCATE' is deprecated; review https://istio.io/latest/docs/ops/configuration/traffic-management/dns-proxy/#dns-auto-allocation-v2 for information about replacement functionality",
      );
}

function say(report: Report, prefix: string, wrong: string | undefined): void {
  report.error(wrong === undefined ? undefined : `${prefix}: ${wrong}`);
}

function checkDrain(report: Report, drain: string): void {
  const wrong = durationError(drain);
  if (wrong) report.error(`invalid drain duration: ${wrong}`);
  else if ((parseDuration(drain) ?? 0n) % 1_000_000_000n !== 0n)
    report.error("drain time only supports durations to seconds precision");
}

function hostPortError(text: string): string | undefined {
  const match = /^(?:\[([^\]]*)\]|([^:]*)):([^:]*)$/.exec(text);
  if (!match)
    return `unable to split ${quote(text)}: address ${text}: ${text.includes(":") ? "too many colons" : "missing port"} in address`;
  const [host, port = ""] = [match[1] ?? match[2] ?? "", match[3]];
  if (!/^[+-]?\d+$/.test(port))
    return `port (${port}) is not a number: strconv.Atoi: parsing ${quote(port)}: invalid syntax`;
  const wrong = portError(Number(port));
  if (wrong) return wrong;
  return fqdnError(host) && !isIp(host) ? `${quote(host)} is not a valid hostname or an IP address` : undefined;
}

const withHostIp = (text: string): string => text.replace("$(HOST_IP)", "127.0.0.1");

function checkTracing(report: Report, { tracing }: ProxyConfigValues): void {
  if (!tracing) return;
  const { zipkin, datadog, lightstep, tlsSettings } = tracing;
  if (zipkin) say(report.at("zipkin"), "invalid zipkin config", hostPortError(withHostIp(zipkin.address ?? "")));
  if (datadog) say(report.at("datadog"), "invalid datadog config", hostPortError(withHostIp(datadog.address ?? "")));
  if (lightstep) {
    const at = report.at("lightstep");
    const prefix = "invalid lightstep config";
    if (!isSet(lightstep.address)) say(at, prefix, "address is required");
    say(at, `${prefix}: invalid lightstep address`, hostPortError(lightstep.address ?? ""));
    if (!isSet(lightstep.accessToken)) say(at, prefix, "access token is required");
  }
  checkClientTls(report.at("tlsSettings"), tlsSettings, "");
}

function checkAddresses(report: Report, proxy: ProxyConfigValues): void {
  const addresses = [
    ["statsdUdpAddress", "statsd udp", proxy.statsdUdpAddress],
    ["envoyMetricsServiceAddress", "envoy metrics service", proxy.envoyMetricsServiceAddress],
    ["envoyMetricsService", "envoy metrics service", proxy.envoyMetricsService?.address],
    ["envoyAccessLogService", "envoy access log service", proxy.envoyAccessLogService?.address],
  ] as const;
  for (const [field, words, address] of addresses)
    if (isSet(address)) say(report.at(field), `invalid ${words} address ${quote(address)}`, hostPortError(address));
}

function checkKeyProvider(report: Report, { cryptomb, qat }: PrivateKeyProvider): void {
  const prefix = "invalid private key provider configuration";
  const given = cryptomb ?? qat;
  if (!given) {
    say(report, prefix, "private key provider configuration is required");
    say(report, prefix, "unknown private key provider");
  } else if (given.pollDelay === undefined) say(report, prefix, "pollDelay is required");
  else if (parseDuration(given.pollDelay) === 0n) say(report, prefix, "pollDelay must be non zero");
}

type Bound = "non-negative" | "positive" | "at least 65535";

const bounds = [
  ["listenerPerConnectionBufferLimitBytes", "non-negative"],
  ["clusterPerConnectionBufferLimitBytes", "non-negative"],
  ["httpIdleTimeout", "non-negative"],
  ["httpMaxConnectionDuration", "non-negative"],
  ["httpDrainTimeout", "non-negative"],
  ["httpRequestTimeout", "non-negative"],
  ["httpRequestHeadersTimeout", "non-negative"],
  ["httpStreamIdleTimeout", "non-negative"],
  ["httpMaxStreamDuration", "non-negative"],
  ["httpMaxConcurrentStreams", "positive"],
  ["http2InitialStreamWindowSize", "at least 65535"],
  ["http2InitialConnectionWindowSize", "at least 65535"],
  ["listenerConnectionLimit", "positive"],
  ["globalDownstreamConnectionLimit", "positive"],
] as const satisfies readonly (readonly [keyof ProxyConfigConnectionSettings, Bound])[];

function checkConnectionSettings(report: Report, settings: ProxyConfigConnectionSettings): void {
  for (const [field, bound] of bounds) {
    const value = settings[field];
    if (value === undefined) continue;
    const number = typeof value === "string" ? Number(parseDuration(value) ?? 0n) : Number(value);
    const least = bound === "non-negative" ? 0 : bound === "positive" ? 1 : 65535;
    const name = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (number < least) say(report.at(field), "invalid connection settings", `${name} must be ${bound}`);
  }
}
