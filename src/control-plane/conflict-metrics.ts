/** What is known of the mesh in; istiod's gauges of objects that get in each other's way, kept as they change, out. */
import type { Collection, Graph } from "../collections/index.ts";
import {
  type Config,
  type DestinationRuleSpec,
  isTcp,
  type ProxyClass,
  resolveHost,
  type Service,
  type VirtualServiceSpec,
} from "../model/index.ts";
import type { Metrics } from "../ops/index.ts";

export interface MeasuredConflicts {
  readonly graph: Graph;
  readonly domain: string;
  readonly services: Collection<Service>;
  readonly virtualServices: Collection<Config<VirtualServiceSpec>>;
  readonly destinationRules: Collection<Config<DestinationRuleSpec>>;
  /** Of the proxies that are connected. */
  readonly classes: () => Iterable<Pick<ProxyClass, "targets">>;
}

export function measureConflicts(metrics: Metrics, of: MeasuredConflicts): void {
  const { graph, domain, services, virtualServices, destinationRules } = of;
  const hosts = graph.index(virtualServices, "claimed host", ({ meta, spec }) =>
    meshHosts(meta.namespace, spec, domain),
  );
  const sharedHosts = graph.derive("hosts of several VirtualServices", hosts.groups, several);
  const places = graph.index(services, "TCP place", tcpPlaces);
  const sharedPlaces = graph.derive("places of several TCP services", places.groups, several);
  const rules = graph.index(destinationRules, "merged rules", ({ meta, spec }) => [
    ruleWord(meta.namespace, spec, domain),
  ]);
  const repeated = graph.derive("rules that repeat subsets", rules.groups, (keys, word) => {
    const names = [...keys].sort().flatMap((key) => subsetNames(destinationRules.get(key)?.spec));
    return new Set(names).size === names.length ? [] : [[word, true] as const];
  });
  metrics.onScrape(() => {
    metrics.set("pilot_vservice_dup_domain", sharedHosts.size);
    metrics.set("pilot_conflict_outbound_listener_tcp_over_current_tcp", sharedPlaces.size);
    metrics.set("pilot_destrule_subsets", repeated.size);
    metrics.set("pilot_conflict_inbound_listener", inboundConflicts(of.classes(), services));
    // Clusters are kept by their names, so none can be sent twice.
    metrics.set("pilot_duplicate_envoy_clusters", 0);
  });
}

const several = (keys: ReadonlySet<string>, word: string): readonly (readonly [string, true])[] =>
  keys.size > 1 ? [[word, true]] : [];

/** One host can have the routes of one VirtualService only, among those that the same clients see. */
function meshHosts(
  namespace: string,
  { hosts = [], gateways = [], exportTo = [] }: VirtualServiceSpec,
  domain: string,
) {
  if (gateways.length > 0 && !gateways.includes("mesh")) return [];
  const seenBy = (exportTo.length > 0 ? exportTo : ["*"]).map((word) => (word === "." ? namespace : word));
  return hosts.flatMap((host) => seenBy.map((word) => `${word}|${resolveHost(host, namespace, domain).toLowerCase()}`));
}

/** Connections are told apart by address and port alone. */
function tcpPlaces({ addresses, resolution, ports }: Service): readonly string[] {
  if (resolution === "alias" || (resolution === "passthrough" && addresses.length === 0)) return [];
  const at = addresses.length > 0 ? addresses : ["0.0.0.0"];
  return ports
    .filter(({ protocol }) => isTcp(protocol) && protocol !== "TLS" && protocol !== "HTTPS")
    .flatMap(({ port }) => at.map((address) => `${address}:${port}`));
}

/** Rules of a namespace for one host, and the same clients, become one. */
function ruleWord(namespace: string, { host = "", workloadSelector }: DestinationRuleSpec, domain: string): string {
  const selector = Object.entries(workloadSelector?.matchLabels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([namespace, resolveHost(host, namespace, domain), selector]);
}

const subsetNames = (spec: DestinationRuleSpec | undefined): readonly string[] =>
  (spec?.subsets ?? []).map(({ name = "" }) => name);

/** Services that send to one port of a workload in different protocols: the first has it. */
function inboundConflicts(classes: Iterable<Pick<ProxyClass, "targets">>, services: Collection<Service>): number {
  let found = 0;
  for (const { targets } of classes) {
    for (const same of Map.groupBy(targets, ({ targetPort }) => targetPort).values()) {
      const protocols = same.map(
        ({ service, port }) => services.get(service)?.ports.find((one) => one.port === port)?.protocol,
      );
      if (new Set(protocols).size > 1) found++;
    }
  }
  return found;
}
