/** The figures that the xDS server gives out, by istiod's names; whoever holds the registry passes this in. */

export type XdsCounter =
  | "pilot_xds_pushes"
  | "pilot_xds_expired_nonce"
  | "pilot_total_xds_rejects"
  | "pilot_total_xds_internal_errors"
  | "pilot_xds_write_timeout"
  | "fairlead_xds_held_back"
  | "fairlead_xds_refused_total";

export type XdsReject =
  | "pilot_xds_cds_reject"
  | "pilot_xds_eds_reject"
  | "pilot_xds_lds_reject"
  | "pilot_xds_rds_reject";

export type XdsHistogram =
  | "pilot_xds_push_time"
  | "pilot_xds_send_time"
  | "pilot_xds_config_size_bytes"
  | "pilot_proxy_queue_time"
  | "pilot_proxy_convergence_time";

export interface XdsMetrics {
  count(name: XdsCounter, labels?: Readonly<Record<string, string>>): void;
  /** Times in seconds, sizes in bytes. */
  observe(name: XdsHistogram, value: number, labels?: Readonly<Record<string, string>>): void;
  set(
    name: "pilot_xds" | "pilot_xds_recv_max" | XdsReject,
    value: number,
    labels?: Readonly<Record<string, string>>,
  ): void;
  /** What these labels were about has gone. */
  remove(name: XdsReject, labels: Readonly<Record<string, string>>): void;
}

export const noMetrics: XdsMetrics = { count() {}, observe() {}, set() {}, remove() {} };
