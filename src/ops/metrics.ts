/** Counts and observations under istiod's names in; the text that Prometheus scrapes out. */
import { Counter, Gauge, Registry } from "prom-client";
import { createHistogram, type Histogram } from "./histogram.ts";

export type Labels = Readonly<Record<string, string>>;

export interface Metrics {
  count(name: string, labels?: Labels, by?: number): void;
  observe(name: string, value: number, labels?: Labels): void;
  set(name: string, value: number, labels?: Labels): void;
  /** What this label set was about has gone. */
  remove(name: string, labels: Labels): void;
  /** Called before each scrape, for figures that are only looked up. */
  onScrape(update: () => void): void;
  text(): Promise<string>;
}

interface Definition {
  readonly help: string;
  readonly labels?: readonly string[];
  readonly buckets?: readonly number[];
}

const seconds = [0.01, 0.1, 1, 3, 5, 10, 20, 30];
const queueSeconds = [0.01, 0.1, 0.2, 0.5, 1, 3, 5];

/** Every metric that is served, with the labels it may have: a label set from user text would be a leak. */
const definitions: Readonly<Record<string, Definition>> = {
  istio_build: { help: "Istio component build info", labels: ["component", "tag"] },
  istiod_uptime_seconds: { help: "Current istiod server uptime in seconds" },
  pilot_info: { help: "Pilot version and build information.", labels: ["version"] },
  pilot_xds: { help: "Number of endpoints connected to this pilot using XDS.", labels: ["version"] },
  pilot_xds_pushes: { help: "Pilot build and send errors for lds, rds, cds and eds.", labels: ["type"] },
  pilot_xds_push_time: {
    help: "Total time in seconds Pilot takes to push lds, rds, cds and eds.",
    labels: ["type"],
    buckets: seconds,
  },
  pilot_xds_send_time: { help: "Total time in seconds Pilot takes to send generated configuration.", buckets: seconds },
  pilot_xds_config_size_bytes: {
    help: "Distribution of configuration sizes pushed to clients.",
    labels: ["type"],
    buckets: [1e4, 1e6, 4e6, 1e7, 4e7],
  },
  pilot_xds_cds_reject: { help: "Pilot rejected CDS configs.", labels: ["node", "err"] },
  pilot_xds_eds_reject: { help: "Pilot rejected EDS.", labels: ["node", "err"] },
  pilot_xds_lds_reject: { help: "Pilot rejected LDS.", labels: ["node", "err"] },
  pilot_xds_rds_reject: { help: "Pilot rejected RDS.", labels: ["node", "err"] },
  pilot_total_xds_rejects: { help: "Total number of XDS responses from pilot rejected by proxy.", labels: ["type"] },
  pilot_total_xds_internal_errors: { help: "Total number of internal XDS errors in pilot." },
  pilot_xds_write_timeout: { help: "Pilot XDS response write timeouts." },
  pilot_xds_expired_nonce: { help: "Total number of XDS requests with an expired nonce.", labels: ["type"] },
  pilot_xds_recv_max: { help: "The largest XDS request size in bytes." },
  pilot_proxy_queue_time: {
    help: "Time in seconds, a proxy is in the push queue before being dequeued.",
    buckets: [0.1, 0.5, 1, 3, 5, 10, 20, 30],
  },
  pilot_proxy_convergence_time: {
    help: "Delay in seconds between config change and a proxy receiving all required configuration.",
    buckets: [0.1, 0.5, 1, 3, 5, 10, 20, 30],
  },
  pilot_jwks_resolver_network_fetch_success_total: {
    help: "Total number of successfully network fetch by pilot jwks resolver",
  },
  pilot_jwks_resolver_network_fetch_fail_total: {
    help: "Total number of failed network fetch by pilot jwks resolver",
  },
  pilot_sds_certificate_errors_total: { help: "Total number of failures to fetch SDS key and certificate." },
  fairlead_credentials: {
    help: "Certificates of Secrets and ConfigMaps that proxies are given, by state.",
    labels: ["state"],
  },
  fairlead_credential_expiry_seconds: {
    help: "The time remaining, in seconds, of the one of them that ends first. A negative value: it has expired.",
  },
  pilot_push_triggers: {
    help: "Total number of times a push was triggered, labeled by reason for the push.",
    labels: ["type"],
  },
  pilot_debounce_time: {
    help: "Delay in seconds between the first config enters debouncing and the merged push request is pushed into the push queue.",
    buckets: seconds,
  },
  pilot_inbound_updates: { help: "Total number of updates received by pilot.", labels: ["type"] },
  pilot_k8s_cfg_events: { help: "Events from k8s config.", labels: ["type", "event"] },
  pilot_k8s_reg_events: { help: "Events from k8s registry.", labels: ["type", "event"] },
  controller_sync_errors_total: {
    help: "Total number of errors syncing controllers: lists and watches that failed and are tried again.",
    labels: ["cluster"],
  },
  pilot_worker_queue_depth: {
    help: "Depth of the controller queues: of changes that the API has told (the cluster's name), and of objects to write.",
    labels: ["queueID"],
  },
  pilot_worker_queue_latency: {
    help: "Latency before the item is processed",
    labels: ["queueID"],
    buckets: queueSeconds,
  },
  pilot_worker_queue_duration: {
    help: "Time taken to process an item",
    labels: ["queueID"],
    buckets: queueSeconds,
  },
  pilot_services: { help: "Total services known to pilot." },
  pilot_virt_services: { help: "Total virtual services known to pilot." },
  pilot_no_ip: { help: "Pods not found in the endpoint table, possibly invalid." },
  pilot_k8s_proxies_with_no_service_targets: {
    help: "Number of proxies that do not have any corresponding service targets.",
    labels: ["reason"],
  },
  pilot_eds_no_instances: { help: "Number of clusters without instances." },
  pilot_endpoint_not_ready: { help: "Endpoint found in unready state." },
  endpoint_no_pod: { help: "Endpoints without an associated pod." },
  pilot_k8s_endpoints_with_no_pods: {
    help: "Endpoints that does not have any corresponding pods, counted each time that their slice is read.",
  },
  pilot_k8s_endpoints_pending_pod: {
    help: "Number of endpoints that do not currently have any corresponding pods.",
  },
  pilot_dns_cluster_without_endpoints: { help: "DNS clusters without endpoints." },
  pilot_vservice_dup_domain: { help: "Virtual services with dup domains." },
  pilot_destrule_subsets: { help: "Duplicate subsets across destination rules for same host" },
  pilot_duplicate_envoy_clusters: { help: "Duplicate envoy clusters caused by service entries with same hostname" },
  pilot_conflict_inbound_listener: { help: "Number of conflicting inbound listeners." },
  pilot_conflict_outbound_listener_tcp_over_current_tcp: {
    help: "Number of conflicting tcp listeners with current tcp listener.",
  },
  provider_lookup_cluster_failures: {
    help: "Number of times a cluster lookup failed: here, of extension providers whose service is not there now.",
    labels: ["type"],
  },
  pilot_pushcontext_init_seconds: {
    help: "Total time in seconds Pilot takes to init pushContext: here, to make anew what a push is about.",
    buckets: seconds,
  },
  istiod_managed_clusters: { help: "Number of clusters managed by istiod", labels: ["cluster_type"] },
  xds_cache_size: { help: "Current size of xds cache: the parts that resources are put together from." },
  xds_cache_reads: {
    help: "Total number of xds cache reads: parts that were there when asked for (hit), or had to be made (miss).",
    labels: ["type"],
  },
  xds_cache_evictions: {
    help: "Total number of xds cache evictions: parts that nobody needs any longer. The cache has no size to be evicted for.",
    labels: ["type"],
  },
  xds_cache_dependent_config_size: {
    help: "Current size of dependent configs: what the parts that are kept were made from, once for each part.",
  },
  pilot_total_rejected_configs: {
    help: "Total number of configs that Pilot had to reject or ignore.",
    labels: ["type"],
  },
  pilot_envoy_filter_status: {
    help: "Status of Envoy filters whether it was applied or errored.",
    labels: ["name", "patch", "result"],
  },
  auto_registration_success_total: { help: "Total number of successful auto registrations." },
  auto_registration_updates_total: { help: "Total number of auto registration updates." },
  auto_registration_unregister_total: { help: "Total number of unregistrations." },
  auto_registration_deletes_total: { help: "Total number of auto registration cleaned up by periodic timer." },
  auto_registration_errors_total: { help: "Total number of auto registration errors." },
  citadel_server_csr_count: { help: "The number of CSRs received by Citadel server." },
  citadel_server_success_cert_issuance_count: { help: "The number of certificates issuances that have succeeded." },
  citadel_server_authentication_failure_count: { help: "The number of authentication failures." },
  citadel_server_csr_parsing_err_count: { help: "The number of errors occurred when parsing the CSR." },
  citadel_server_csr_sign_err_count: { help: "The number of errors occurred when signing the CSR.", labels: ["error"] },
  citadel_server_id_extraction_err_count: { help: "The number of errors occurred when extracting the ID from CSR." },
  citadel_server_root_cert_expiry_timestamp: {
    help: "The unix timestamp, in seconds, when Citadel root cert will expire.",
  },
  citadel_server_root_cert_expiry_seconds: {
    help: "The time remaining, in seconds, before Citadel root cert will expire.",
  },
  citadel_server_cert_chain_expiry_timestamp: {
    help: "The unix timestamp, in seconds, when Citadel cert chain will expire.",
  },
  citadel_server_cert_chain_expiry_seconds: {
    help: "The time remaining, in seconds, before Citadel cert chain will expire.",
  },
  webhook_patch_attempts_total: { help: "Webhook patching attempts", labels: ["name"] },
  webhook_patch_retries_total: { help: "Webhook patching retries", labels: ["name"] },
  webhook_patch_failures_total: { help: "Webhook patching failures", labels: ["name", "reason"] },
  sidecar_injection_requests_total: { help: "Total number of sidecar injection requests." },
  sidecar_injection_success_total: { help: "Total number of successful sidecar injection requests." },
  sidecar_injection_failure_total: { help: "Total number of failed sidecar injection requests." },
  sidecar_injection_skip_total: { help: "Total number of skipped sidecar injection requests." },
  sidecar_injection_time_seconds: {
    help: "Total time taken for injection in seconds.",
    buckets: [0.1, 1, 3, 5, 10, 20, 30, 60],
  },
  galley_validation_passed: { help: "Resource is valid" },
  galley_validation_failed: { help: "Resource validation failed", labels: ["reason"] },
  galley_validation_config_updates: { help: "k8s webhook configuration updates" },
  galley_validation_config_update_error: {
    help: "k8s webhook configuration update error",
    labels: ["reason"],
  },
  galley_validation_config_load_error: {
    help: "k8s webhook configuration (re)load error: here, roots that cannot be used.",
    labels: ["reason"],
  },
  galley_validation_http_error: { help: "Resource validation http serve errors", labels: ["status"] },
  process_cpu_seconds_total: { help: "Total user and system CPU time spent in seconds." },
  process_resident_memory_bytes: { help: "Resident memory size in bytes." },
  process_start_time_seconds: { help: "Start time of the process since unix epoch in seconds." },
  fairlead_memory_bytes: { help: "Memory of the process by part, as Node tells it.", labels: ["part"] },
  fairlead_event_loop_delay_seconds: {
    help: "How late the event loop was, over the time since the last scrape.",
    labels: ["quantile"],
  },
  fairlead_event_loop_delay_samples: { help: "How often it was looked how late, over the same time." },
  process_open_fds: { help: "Number of open file descriptors." },
  process_max_fds: { help: "Maximum number of open file descriptors." },
  fairlead_heap_limit_bytes: { help: "How much of the heap objects may take before the process ends." },
  fairlead_heap_share: { help: "How much of that is taken by what lives; new streams are refused from 0.85 on." },
  fairlead_shed_total: {
    help: "What was refused because memory or file descriptors ran out.",
    labels: ["what", "cause"],
  },
  fairlead_long_turns_total: {
    help: "How often one request held the event loop for more than 100 ms of processor; the log names it.",
  },
  fairlead_restarts_total: { help: "How often `fairlead up` had to start this process again." },
  fairlead_waiting_pushes: { help: "Proxies that wait for their turn to be written to." },
  fairlead_dashboard_refused_total: {
    help: "Requests for the page that were refused, by why: another site's, no token, too many streams, a stream that nobody reads, what does not exist or may not be seen.",
    labels: ["why"],
  },
  fairlead_classes: { help: "Classes of connected proxies; each is rendered once." },
  fairlead_refused_objects: { help: "Objects of users that made something which a connected proxy refuses." },
  fairlead_settings_not_usable: { help: "Settings of users that could not be used as they are; the log names each." },
  fairlead_render_faults: { help: "Resources that could not be rendered because of a fault of ours." },
  fairlead_incremental_checks: {
    help: "Comparisons of what proxies have with what a fresh start would give them (FAIRLEAD_CHECK_INCREMENTAL).",
  },
  fairlead_incremental_differences: { help: "Resources that came out different in those comparisons." },
  fairlead_traffic_reports_total: {
    help: "Reports of agents on the requests of their proxies: taken, replayed, or refused with the call.",
    labels: ["result"],
  },
  fairlead_traffic_edges_total: {
    help: "Edges in those reports: taken, folded for want of room, or malformed and left out.",
    labels: ["result"],
  },
  fairlead_traffic_reporters: { help: "Agents that report on the requests of their proxies." },
  fairlead_traffic_edges: { help: "Pairs of workloads, by service and protocol, whose rates are kept." },
  fairlead_traffic_folded_edges: { help: "Of these, such that are counted by namespace, for want of room." },
  fairlead_traffic_bytes: { help: "Memory of the rates that are kept; at most 64 MiB." },
  fairlead_traffic_taps: { help: "How many look at live requests now." },
  fairlead_xds_refused_total: {
    help: "What the ports of xDS and certificates have refused: calls and streams by their status, requests of unknown types (UnknownType) or without gRPC (NotGrpc), connections that break the rules of TLS or HTTP/2 (BadConnection).",
    labels: ["reason"],
  },
  fairlead_xds_held_back: {
    help: "Routes and listeners held back because a cluster they name was not accepted.",
    labels: ["type"],
  },
};

const noLabels: Labels = {};
/** Labels that are made anew each time are not gathered. */
const maxUnsettled = 32;

/** All that may be exported: dashboards are checked against it. */
export const metricNames: readonly string[] = Object.keys(definitions);

/** By the name that a sample has, with the labels that it may have. */
export const sampleLabels: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(definitions).flatMap(([name, { labels = [], buckets }]) =>
    buckets
      ? [
          [`${name}_bucket`, [...labels, "le"]],
          [`${name}_sum`, labels],
          [`${name}_count`, labels],
        ]
      : [[name, labels]],
  ),
);

export function createMetrics(): Metrics {
  const registry = new Registry();
  const updates: (() => void)[] = [];
  const made = new Map<string, Counter | Gauge>();
  const histograms = new Map<string, Histogram>();
  const get = <T extends Counter | Gauge>(
    name: string,
    create: (options: { name: string; help: string; labelNames: string[]; registers: Registry[] }) => T,
  ): T => {
    const existing = made.get(name);
    if (existing) return existing as T;
    const { help = name, labels = [] } = definitions[name] ?? {};
    const metric = create({ name, help, labelNames: [...labels], registers: [registry] });
    made.set(name, metric);
    return metric;
  };
  const histogram = (name: string): Histogram => {
    const existing = histograms.get(name);
    if (existing) return existing;
    const { help = name, labels = [], buckets = seconds } = definitions[name] ?? {};
    const created = createHistogram({ name, help, labels, buckets });
    histograms.set(name, created);
    return created;
  };
  const counts = new Map<string, Map<Labels, number>>();
  /** Labels that the definition does not name are dropped. */
  const known = (name: string, labels: Labels): Labels => {
    const allowed = definitions[name]?.labels ?? [];
    const keys = Object.keys(labels);
    if (keys.every((key) => allowed.includes(key))) return labels;
    return Object.fromEntries(Object.entries(labels).filter(([key]) => allowed.includes(key)));
  };
  const settle = (name: string, counted: Map<Labels, number>): void => {
    const counter = get(name, (options) => new Counter(options));
    for (const [labels, by] of counted) counter.inc(known(name, labels), by);
    counted.clear();
  };
  return {
    // Who counts often passes the same object of labels each time: they are read when somebody wants to know.
    count(name, labels = noLabels, by = 1) {
      let counted = counts.get(name);
      if (!counted) {
        counted = new Map();
        counts.set(name, counted);
      }
      counted.set(labels, (counted.get(labels) ?? 0) + by);
      if (counted.size > maxUnsettled) settle(name, counted);
    },
    observe: (name, value, labels = noLabels) => histogram(name).observe(labels, value),
    set: (name, value, labels = {}) => get(name, (options) => new Gauge(options)).set(known(name, labels), value),
    remove(name, labels) {
      const counted = counts.get(name);
      if (counted) settle(name, counted);
      made.get(name)?.remove(known(name, labels));
    },
    onScrape: (update) => updates.push(update),
    async text() {
      for (const update of updates) update();
      for (const [name, counted] of counts) settle(name, counted);
      return [await registry.metrics(), ...histograms.values().map((one) => one.text())].join("\n");
    },
  };
}
