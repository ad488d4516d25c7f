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
  const sharedHosts = countShared(graph, virtualServices, ({ meta, spec }) => meshHosts(meta.namespace, spec, domain));
  const sharedPlaces = countShared(graph, services, tcpPlaces);
  const rules = graph.index(destinationRules, "merged rules", ({ meta, spec }) => [
    ruleWord(meta.namespace, spec, domain),
  ]);
  const repeated = graph.derive("rules that repeat subsets", rules.groups, (keys, word) => {
    const names = [...keys].sort().flatMap((key) => subsetNames(destinationRules.get(key)?.spec));
    return new Set(names).size === names.length ? [] : [[word, true] as const];
  });
  metrics.onScrape(() => {
    metrics.set("pilot_vservice_dup_domain", sharedHosts());
    metrics.set("pilot_conflict_outbound_listener_tcp_over_current_tcp", sharedPlaces());
    metrics.set("pilot_destrule_subsets", repeated.size);
    metrics.set("pilot_conflict_inbound_listener", inboundConflicts(of.classes(), services));
    // Clusters are kept by their names, so none can be sent twice.
    metrics.set("pilot_duplicate_envoy_clusters", 0);
  });
}

/** How many words several members have. Counted and no more: one member may have tens of thousands of words. */
function countShared<T>(graph: Graph, of: Collection<T>, words: (value: T) => readonly string[]): () => number {
  const holders = new Map<string, number>();
  let shared = 0;
  const count = (value: T | undefined, by: 1 | -1): void => {
    if (value === undefined) return;
    for (const word of new Set(words(value))) {
      const before = holders.get(word) ?? 0;
      const now = before + by;
      if (now > 0) holders.set(word, now);
      else holders.delete(word);
      shared += Number(now > 1) - Number(before > 1);
    }
  };
  graph.untracked(() => {
    for (const key of of.keys()) count(of.get(key), 1);
  });
  of.subscribe((_key, now, before) => {
    count(before, -1);
    count(now, 1);
  });
  return () => shared;
}

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

/** Services that send to one port of a workload in different protocols: the first has it. UDP is in nobody's way. */
function inboundConflicts(classes: Iterable<Pick<ProxyClass, "targets">>, services: Collection<Service>): number {
  let found = 0;
  for (const { targets } of classes) {
    for (const same of Map.groupBy(targets, ({ targetPort }) => targetPort).values()) {
      const protocols = same.map(
        ({ service, portName }) => services.get(service)?.ports.find(({ name }) => name === portName)?.protocol,
      );
      if (new Set(protocols.filter((protocol) => protocol !== "UDP")).size > 1) found++;
    }
  }
  return found;
}
