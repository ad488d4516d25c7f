/** An EnvoyFilter in, what istiod's webhook says of it into the report. */
import { compilePattern, isRecord } from "../../lib/index.ts";
import type {
  EnvoyFilterEnvoyConfigObjectPatch,
  EnvoyFilterListenerMatchFilterMatch,
  EnvoyFilterSpec,
} from "../../model/index.ts";
import type { Check, PatchChecker } from "./check.ts";
import { each, quote, type Report } from "./report.ts";
import { checkLabelSelector } from "./selector.ts";

export const checkEnvoyFilter: Check<EnvoyFilterSpec> = (report, spec, _, { patches }) => {
  report.warn(
    "EnvoyFilter exposes internal implementation details that may change at any time. Prefer other APIs if possible, and exercise extreme caution, especially around upgrades.",
  );
  if (!checkLabelSelector(report.at("workloadSelector"), spec.workloadSelector, "Envoy filter")) return;
  each(report, "configPatches", spec.configPatches, (patch, at) => {
    // Istio has no rules for waypoints yet.
    if (patch.match?.context === "WAYPOINT") return;
    if (checkPatch(at, patch) && checkMatch(at, patch)) checkValue(at.at("patch", "value"), patch, patches);
  });
};

/** False where there is nothing more to look at. */
function checkPatch(report: Report, { applyTo = "INVALID", patch, match }: EnvoyFilterEnvoyConfigObjectPatch): boolean {
  const missing =
    applyTo === "INVALID"
      ? "applyTo"
      : !patch
        ? "patch"
        : (patch.operation ?? "INVALID") === "INVALID"
          ? "patch operation"
          : patch.operation !== "REMOVE" && patch.value === undefined
            ? "patch value for non-remove operation"
            : undefined;
  if (missing) {
    report.error(`Envoy filter: missing ${missing}`);
    return false;
  }
  const version = match?.proxy?.proxyVersion ?? "";
  const at = report.at("match", "proxy", "proxyVersion");
  if (version.length > 1024) {
    at.warn("Envoy filter: proxyVersion match exceeds 1024 characters and will be ignored");
    return true;
  }
  const pattern = compilePattern(version);
  if (!("error" in pattern)) return true;
  at.error(`Envoy filter: invalid regex for proxy version, [${pattern.error}]`);
  return false;
}

const listenerClass: ReadonlySet<string> = new Set(["LISTENER", "FILTER_CHAIN", "NETWORK_FILTER", "HTTP_FILTER"]);
const routeClass: ReadonlySet<string> = new Set(["ROUTE_CONFIGURATION", "VIRTUAL_HOST", "HTTP_ROUTE"]);

/** What is patched and what is matched must be of one class. False where Istio goes to the next patch. */
function checkMatch(report: Report, { applyTo = "INVALID", match }: EnvoyFilterEnvoyConfigObjectPatch): boolean {
  const { listener, routeConfiguration, cluster, waypoint } = match ?? {};
  if (!listener && !routeConfiguration && !cluster && !waypoint) return true;
  const at = report.at("match");
  if (listenerClass.has(applyTo)) {
    if (listener)
      return checkFilterMatch(at.at("listener", "filterChain", "filter"), applyTo, listener.filterChain?.filter);
    at.error("Envoy filter: applyTo for listener class objects cannot have non listener match");
    return false;
  }
  if (routeClass.has(applyTo) && !routeConfiguration)
    at.error("Envoy filter: applyTo for http route class objects cannot have non route configuration match");
  if (applyTo === "CLUSTER" && !cluster)
    at.error("Envoy filter: applyTo for cluster class objects cannot have non cluster match");
  return true;
}

const connectionManager = "envoy.filters.network.http_connection_manager";

function checkFilterMatch(
  report: Report,
  applyTo: string,
  filter: EnvoyFilterListenerMatchFilterMatch | undefined,
): boolean {
  if (!filter) return true;
  const { name = "", subFilter } = filter;
  if (applyTo === "LISTENER" || applyTo === "FILTER_CHAIN")
    report.warn(`Envoy filter: filter match has no effect when used with ${applyTo}`);
  const wrong =
    name === ""
      ? "filter match has no name to match on"
      : !subFilter
        ? undefined
        : applyTo !== "HTTP_FILTER"
          ? "subfilter match can be used with applyTo HTTP_FILTER only"
          : name !== connectionManager && name !== "envoy.http_connection_manager"
            ? `subfilter match requires filter match with ${connectionManager}`
            : (subFilter.name ?? "") === ""
              ? "subfilter match has no name to match on"
              : undefined;
  if (wrong) {
    report.error(`Envoy filter: ${wrong}`);
    return false;
  }
  report.warn(oldNameWarning(name));
  report.warn(oldNameWarning(subFilter?.name ?? ""));
  return true;
}

/** The names that Envoy's filters had before they were put into families. */
const oldNames: ReadonlyMap<string, string> = new Map([
  ...[
    "buffer",
    "cors",
    "csrf",
    "fault",
    "grpc_http1_bridge",
    "grpc_json_transcoder",
    "grpc_web",
    "gzip",
    "health_check",
    "ip_tagging",
    "lua",
    "rate_limit",
    "router",
    "squash",
  ].map((name): [string, string] => [
    `envoy.${name}`,
    `envoy.filters.http.${name === "rate_limit" ? "ratelimit" : name}`,
  ]),
  ...[
    "client_ssl_auth",
    "echo",
    "ext_authz",
    "http_connection_manager",
    "mongo_proxy",
    "ratelimit",
    "redis_proxy",
    "tcp_proxy",
  ].map((name): [string, string] => [`envoy.${name}`, `envoy.filters.network.${name}`]),
  ["envoy.http_dynamo_filter", "envoy.filters.http.dynamo"],
  ["envoy.listener.http_inspector", "envoy.filters.listener.http_inspector"],
  ["envoy.listener.original_dst", "envoy.filters.listener.original_dst"],
  ["envoy.listener.original_src", "envoy.filters.listener.original_src"],
  ["envoy.listener.proxy_protocol", "envoy.filters.listener.proxy_protocol"],
  ["envoy.listener.tls_inspector", "envoy.filters.listener.tls_inspector"],
]);

function oldNameWarning(name: string): string | undefined {
  const now = oldNames.get(name);
  return now === undefined ? undefined : `using deprecated filter name ${quote(name)}; use ${quote(now)} instead`;
}

const named: ReadonlySet<string> = new Set(["NETWORK_FILTER", "HTTP_FILTER", "LISTENER_FILTER"]);

function checkValue(
  report: Report,
  { applyTo = "INVALID", patch }: EnvoyFilterEnvoyConfigObjectPatch,
  patches: PatchChecker | undefined,
): void {
  const value = patch?.value;
  if (!isRecord(value)) return;
  const found = patches?.(applyTo, value);
  if (found?.error !== undefined) {
    report.error(found.error);
    return;
  }
  for (const warning of found?.warnings ?? []) report.warn(warning);
  // Envoy no longer looks filters up by their name alone.
  const typed = ["typed_config", "typedConfig", "config_discovery", "configDiscovery"].some((key) =>
    Object.hasOwn(value, key),
  );
  if ((found?.warnings ?? []).length === 0 && named.has(applyTo) && !typed)
    report.warn(
      `using deprecated types by name without typed_config; ${typeof value.name === "string" ? value.name : ""}`,
    );
}
