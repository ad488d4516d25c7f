/** For tests: metrics that the busy control plane of discovery.test.ts does not come to, with the test that expects a value of each. */
export const rareMetrics: ReadonlyMap<string, string> = new Map([
  ["auto_registration_deletes_total", "registration/records.test.ts"],
  ["auto_registration_errors_total", "registration/records.test.ts"],
  ["auto_registration_success_total", "registration/records.test.ts"],
  ["auto_registration_unregister_total", "registration/records.test.ts"],
  ["auto_registration_updates_total", "registration/records.test.ts"],
  ["citadel_server_cert_chain_expiry_seconds", "trust/rotation.test.ts"],
  ["citadel_server_cert_chain_expiry_timestamp", "trust/rotation.test.ts"],
  ["endpoint_no_pod", "model-metrics.test.ts"],
  ["fairlead_credential_expiry_seconds", "credential-reports.test.ts"],
  ["fairlead_credentials", "credential-reports.test.ts"],
  ["fairlead_dashboard_refused_total", "../../test/dashboard/access.test.ts"],
  ["fairlead_incremental_checks", "incremental-check.test.ts"],
  ["fairlead_incremental_differences", "incremental-check.test.ts"],
  ["fairlead_restarts_total", "../ops/process-metrics.test.ts"],
  ["fairlead_shed_total", "../../test/e2e/shortage.test.ts"],
  ["fairlead_traffic_taps", "traffic/traffic.test.ts"],
  ["galley_validation_config_load_error", "trust/external-ca.test.ts"],
  ["galley_validation_config_update_error", "trust/webhook-bundles.test.ts"],
  ["pilot_conflict_inbound_listener", "conflict-metrics.test.ts"],
  ["pilot_conflict_outbound_listener_tcp_over_current_tcp", "conflict-metrics.test.ts"],
  ["pilot_destrule_subsets", "conflict-metrics.test.ts"],
  ["pilot_dns_cluster_without_endpoints", "model-metrics.test.ts"],
  ["pilot_endpoint_not_ready", "model-metrics.test.ts"],
  ["pilot_k8s_endpoints_pending_pod", "model-metrics.test.ts"],
  ["pilot_k8s_endpoints_with_no_pods", "model-metrics.test.ts"],
  ["pilot_sds_certificate_errors_total", "credential-reports.test.ts"],
  ["pilot_total_xds_internal_errors", "../xds/server/ads.test.ts"],
  ["pilot_vservice_dup_domain", "conflict-metrics.test.ts"],
  ["pilot_xds_expired_nonce", "../xds/server/ads.test.ts"],
  ["provider_lookup_cluster_failures", "model-metrics.test.ts"],
  ["webhook_patch_failures_total", "trust/webhook-bundles.test.ts"],
  ["webhook_patch_retries_total", "trust/webhook-bundles.test.ts"],
]);

/** The same of such as it may come to or not: how busy the machine is, or when garbage was collected, decides. */
export const chanceMetrics: ReadonlyMap<string, string> = new Map([
  ["controller_sync_errors_total", "wiring/api.test.ts"],
  ["fairlead_event_loop_delay_samples", "../ops/process-metrics.test.ts"],
  ["fairlead_event_loop_delay_seconds", "../ops/process-metrics.test.ts"],
  ["fairlead_heap_share", "../ops/process-metrics.test.ts"],
  ["fairlead_waiting_pushes", "../../test/e2e/push-environment.test.ts"],
  ["pilot_worker_queue_depth", "queue-metrics.test.ts"],
]);

/** Those that are zero for ever, with the reason. */
export const zeroMetrics: ReadonlyMap<string, string> = new Map([
  ["pilot_duplicate_envoy_clusters", "clusters are kept by their names, so none is sent twice"],
]);
