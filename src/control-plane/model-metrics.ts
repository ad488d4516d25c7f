/** What is known of the mesh in; istiod's gauges of what lacks something in it, kept as it changes, out. */
import type { Collection, Graph } from "../collections/index.ts";
import { isRecord, readText, readTexts } from "../lib/index.ts";
import type { Mesh } from "../mesh/index.ts";
import type { KubeObject, Service } from "../model/index.ts";
import type { Metrics } from "../ops/index.ts";
import type { Registry } from "../registry/index.ts";
import type { Settings } from "./settings.ts";
import type { ControlledSource } from "./source/resource-source.ts";

export interface MeasuredModel {
  readonly graph: Graph;
  readonly registry: Pick<Registry, "services" | "endpoints">;
  readonly objects: (group: string, kind: string) => Collection<KubeObject>;
  readonly resources: Pick<ControlledSource, "withoutService">;
  readonly mesh: Pick<Mesh, "settings" | "serviceNamed">;
  readonly settings: Pick<Settings, "discovered">;
}

export function measureModel(metrics: Metrics, model: MeasuredModel): void {
  const { graph, registry, resources, mesh } = model;
  metrics.set("istiod_managed_clusters", 1, { cluster_type: "local" });
  metrics.set("istiod_managed_clusters", 0, { cluster_type: "remote" });
  const endpoints = findLackingEndpoints(metrics, model);
  const pending = countDistinct(endpoints, (lack) => lack.pending);
  const clusters = graph.derive<Service, Counts>(
    "clusters without endpoints",
    registry.services,
    ({ resolution, ports }, key) => {
      const metric = withoutEndpoints.get(resolution);
      const isWithout = metric && ports.length > 0 && registry.endpoints(key).length === 0;
      return isWithout ? [[key, { [metric]: ports.length }]] : [];
    },
  );
  const sums = [sumOf(endpoints, ({ counts }) => counts), sumOf(clusters, (counts) => counts)];
  metrics.onScrape(() => {
    for (const name of gauges)
      metrics.set(
        name,
        sums.reduce((sum, of) => sum + (of.get(name) ?? 0), 0),
      );
    metrics.set("pilot_k8s_endpoints_pending_pod", pending.size);
    metrics.set("pilot_no_ip", resources.withoutService);
    for (const [type, count] of unreachedProviders(mesh))
      metrics.set("provider_lookup_cluster_failures", count, { type });
  });
}

const gauges = [
  "pilot_endpoint_not_ready",
  "endpoint_no_pod",
  "pilot_eds_no_instances",
  "pilot_dns_cluster_without_endpoints",
] as const;

/** By gauge; none where it would be zero. */
type Counts = Partial<Record<(typeof gauges)[number], number>>;

/** By type, how many extension providers name a service that is not there; zero for a type whose providers are all reached. */
function unreachedProviders(mesh: MeasuredModel["mesh"]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const provider of mesh.settings().extensionProviders ?? []) {
    for (const [type, settings] of Object.entries(provider)) {
      const service = isRecord(settings) && "service" in settings ? readText(settings.service) : "";
      if (service !== "") counts.set(type, (counts.get(type) ?? 0) + (mesh.serviceNamed(service) ? 0 : 1));
    }
  }
  return counts;
}

/** Each port of a service is a cluster; its endpoints are known here, or found by the names that it declares. */
const withoutEndpoints: ReadonlyMap<string, (typeof gauges)[number]> = new Map([
  ["static", "pilot_eds_no_instances"],
  ["dns", "pilot_dns_cluster_without_endpoints"],
]);

/** Endpoints of a slice that lack something. */
interface Lack {
  readonly counts: Counts;
  /** Addresses whose Pods are named but not known: nothing is sent there until they are. */
  readonly pending: readonly string[];
}

/** By slice. Most lack nothing, and are not kept. */
function findLackingEndpoints(metrics: Metrics, { graph, objects, settings }: MeasuredModel): Collection<Lack> {
  const pods = objects("", "Pod");
  /** Each version of a slice is counted once, as istiod does: that a Pod goes before its endpoint is the rule. */
  const counted = new WeakSet<KubeObject>();
  metrics.count("pilot_k8s_endpoints_with_no_pods", {}, 0);
  return graph.derive("endpoints that lack something", objects("discovery.k8s.io", "EndpointSlice"), (slice, key) => {
    if (!settings.discovered(slice)) return [];
    const lack = lackOf(slice, key, pods);
    if (lack.pending.length > 0 && !counted.has(slice))
      metrics.count("pilot_k8s_endpoints_with_no_pods", {}, lack.pending.length);
    counted.add(slice);
    return Object.values(lack.counts).some((count) => count > 0) ? [[key, lack]] : [];
  });
}

function lackOf({ endpoints }: KubeObject, key: string, pods: Collection<KubeObject>): Lack {
  let [notReady, withoutPod] = [0, 0];
  const pending: string[] = [];
  for (const endpoint of Array.isArray(endpoints) ? endpoints.filter(isRecord) : []) {
    if (isRecord(endpoint.conditions) && endpoint.conditions.ready === false) notReady++;
    const { targetRef } = endpoint;
    if (!isRecord(targetRef) || targetRef.kind !== "Pod") continue;
    const namespace = targetRef.namespace ?? key.slice(0, key.indexOf("/"));
    if (pods.get(`${namespace}/${targetRef.name}`)) continue;
    withoutPod++;
    pending.push(...readTexts(endpoint.addresses));
  }
  return { counts: { pilot_endpoint_not_ready: notReady, endpoint_no_pod: withoutPod }, pending };
}

/** Brought up to date member by member. */
function sumOf<T>(all: Collection<T>, countsOf: (value: T) => Counts): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  follow(all, (value, sign) => {
    for (const [name, count] of Object.entries(countsOf(value))) sums.set(name, (sums.get(name) ?? 0) + sign * count);
  });
  return sums;
}

/** Words that members have, with how many have each. A Pod that several Services select is in a slice of each. */
function countDistinct<T>(all: Collection<T>, words: (value: T) => readonly string[]): ReadonlyMap<string, number> {
  const holders = new Map<string, number>();
  follow(all, (value, sign) => {
    for (const word of words(value)) {
      const left = (holders.get(word) ?? 0) + sign;
      if (left > 0) holders.set(word, left);
      else holders.delete(word);
    }
  });
  return holders;
}

/** What is there now is added, and whatever changes later is taken away and added again. */
function follow<T>(all: Collection<T>, add: (value: T, sign: 1 | -1) => void): void {
  for (const key of all.keys()) {
    const value = all.get(key);
    if (value !== undefined) add(value, 1);
  }
  all.subscribe((_key, now, before) => {
    if (before !== undefined) add(before, -1);
    if (now !== undefined) add(now, 1);
  });
}
