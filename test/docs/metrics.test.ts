import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { metricNames } from "../../src/ops/index.ts";

const page = readFileSync(new URL("../../docs/reference/metrics.md", import.meta.url), "utf8");
const [here = "", absent = ""] = page.split("Those below");

/** Names in the first column of the tables there. */
const firstColumn = (text: string): readonly string[] =>
  text
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map(([, name = ""]) => name));

const withPrefix = (prefix: string, ...names: readonly string[]): readonly string[] =>
  names.map((name) => `${prefix}${name}`);

/** What istiod exports and dashboards, alerts and operators read. */
const ofIstiod = [
  ...["pilot_xds", "pilot_total_xds_rejects", "pilot_total_xds_internal_errors"],
  ...withPrefix("pilot_xds_", "pushes", "push_time", "send_time", "config_size_bytes", "write_timeout"),
  ...withPrefix("pilot_xds_", "cds_reject", "eds_reject", "lds_reject", "rds_reject", "expired_nonce", "recv_max"),
  ...withPrefix("pilot_", "push_triggers", "proxy_convergence_time", "proxy_queue_time", "pushcontext_init_seconds"),
  ...withPrefix("pilot_", "debounce_time", "inbound_updates", "services", "virt_services", "info", "no_ip"),
  ...["istio_build", "istiod_uptime_seconds", "endpoint_no_pod", "provider_lookup_cluster_failures"],
  ...withPrefix("pilot_", "eds_no_instances", "endpoint_not_ready", "vservice_dup_domain", "destrule_subsets"),
  ...withPrefix("pilot_conflict_", "inbound_listener", "outbound_listener_tcp_over_current_tcp"),
  ...withPrefix("pilot_", "duplicate_envoy_clusters", "dns_cluster_without_endpoints", "total_rejected_configs"),
  ...withPrefix("pilot_", "envoy_filter_status", "sds_certificate_errors_total"),
  ...withPrefix("pilot_k8s_", "cfg_events", "reg_events", "endpoints_with_no_pods", "endpoints_pending_pod"),
  ...["pilot_k8s_proxies_with_no_service_targets", "controller_sync_errors_total"],
  ...withPrefix("pilot_worker_queue_", "depth", "latency", "duration"),
  ...withPrefix("xds_cache_", "reads", "evictions", "size", "dependent_config_size"),
  ...withPrefix("citadel_server_", "csr_count", "success_cert_issuance_count", "authentication_failure_count"),
  ...withPrefix("citadel_server_", "csr_parsing_err_count", "csr_sign_err_count", "id_extraction_err_count"),
  ...withPrefix("citadel_server_root_cert_expiry_", "timestamp", "seconds"),
  ...withPrefix("citadel_server_cert_chain_expiry_", "timestamp", "seconds"),
  ...withPrefix("pilot_jwks_resolver_network_fetch_", "success_total", "fail_total"),
  ...withPrefix("galley_validation_", "passed", "failed", "http_error"),
  ...withPrefix("galley_validation_", "config_updates", "config_update_error", "config_load_error"),
  ...withPrefix("sidecar_injection_", "requests_total", "success_total", "failure_total", "skip_total", "time_seconds"),
  ...withPrefix("webhook_patch_", "attempts_total", "retries_total", "failures_total"),
  ...["istiod_managed_clusters", "istiod_remote_cluster_sync_status"],
  ...withPrefix("remote_cluster_", "secret_events_total", "sync_timeouts_total"),
  ...withPrefix("auto_registration_", "success_total", "errors_total", "updates_total"),
  ...withPrefix("auto_registration_", "deletes_total", "unregister_total"),
];

test("each metric of istiod is exported, or the page says why not", () => {
  const left = firstColumn(absent);
  expect(ofIstiod.filter((name) => !metricNames.includes(name) && !left.includes(name))).toEqual([]);
  expect(left.filter((name) => metricNames.includes(name))).toEqual([]);
});

test("each metric that the page explains is one that is exported", () => {
  const explained = firstColumn(here);
  expect(explained.length).toBeGreaterThan(10);
  expect(explained.filter((name) => !metricNames.includes(name))).toEqual([]);
});
