/** For tests: metrics that the busy control plane of discovery.test.ts does not come to export, with the test that expects a value of each. */
export const rareMetrics: ReadonlyMap<string, string> = new Map([
  ["citadel_server_cert_chain_expiry_seconds", "trust/rotation.test.ts"],
  ["citadel_server_cert_chain_expiry_timestamp", "trust/rotation.test.ts"],
  ["fairlead_credential_expiry_seconds", "credential-reports.test.ts"],
  ["fairlead_dashboard_refused_total", "../../test/dashboard/access.test.ts"],
  ["fairlead_incremental_checks", "incremental-check.test.ts"],
  ["fairlead_incremental_differences", "incremental-check.test.ts"],
  ["fairlead_shed_total", "../../test/e2e/shortage.test.ts"],
  ["galley_validation_config_load_error", "trust/external-ca.test.ts"],
  ["galley_validation_config_update_error", "trust/webhook-bundles.test.ts"],
  ["pilot_total_xds_internal_errors", "../xds/server/ads.test.ts"],
  ["pilot_xds_expired_nonce", "../xds/server/ads.test.ts"],
  ["provider_lookup_cluster_failures", "model-metrics.test.ts"],
  ["webhook_patch_failures_total", "trust/webhook-bundles.test.ts"],
  ["webhook_patch_retries_total", "trust/webhook-bundles.test.ts"],
]);
