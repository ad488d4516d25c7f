/** What is known of the mesh in; istiod's gauges of what lacks something in it, kept as it changes, out. */
import type { Collection, Graph } from "../collections/index.ts";
import { isRecord, readText } from "../lib/index.ts";
import type { Mesh } from "../mesh/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { Metrics } from "../ops/index.ts";
import type { Registry } from "../registry/index.ts";
import type { ControlledSource } from "./resource-source.ts";

export interface MeasuredModel {
  readonly graph: Graph;
  readonly registry: Pick<Registry, "services" | "endpoints">;
  readonly objects: (group: string, kind: string) => Collection<KubeObject>;
  readonly resources: Pick<ControlledSource, "withoutService">;
  readonly mesh: Pick<Mesh, "settings" | "serviceNamed">;
}

export function measureModel(metrics: Metrics, model: MeasuredModel): void {
  const { graph, registry, objects, resources, mesh } = model;
  metrics.set("istiod_managed_clusters", 1, { cluster_type: "local" });
  const pods = objects("", "Pod");
  const endpoints = graph.derive(
    "endpoints that lack something",
    objects("discovery.k8s.io", "EndpointSlice"),
    (slice, key) => lacking(key, endpointCounts(slice, key, pods)),
  );
  const clusters = graph.derive("clusters without endpoints", registry.services, ({ resolution, ports }, key) => {
    const metric = withoutEndpoints.get(resolution);
    return lacking(key, metric && registry.endpoints(key).length === 0 ? { [metric]: ports.length } : {});
  });
  const sums = [sumOf(endpoints), sumOf(clusters)];
  metrics.onScrape(() => {
    for (const name of gauges)
      metrics.set(
        name,
        sums.reduce((sum, of) => sum + (of.get(name) ?? 0), 0),
      );
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

/** Most lack nothing, and are not kept. */
const lacking = (key: string, counts: Counts): readonly (readonly [string, Counts])[] =>
  Object.values(counts).some((count) => count > 0) ? [[key, counts]] : [];

/** Brought up to date member by member. */
function sumOf(all: Collection<Counts>): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  const add = (counts: Counts | undefined, sign: 1 | -1): void => {
    for (const [name, count] of Object.entries(counts ?? {})) sums.set(name, (sums.get(name) ?? 0) + sign * count);
  };
  for (const key of all.keys()) add(all.get(key), 1);
  all.subscribe((_key, now, before) => {
    add(before, -1);
    add(now, 1);
  });
  return sums;
}

function endpointCounts({ endpoints }: KubeObject, key: string, pods: Collection<KubeObject>): Counts {
  let [notReady, withoutPod] = [0, 0];
  for (const endpoint of Array.isArray(endpoints) ? endpoints.filter(isRecord) : []) {
    if (isRecord(endpoint.conditions) && endpoint.conditions.ready === false) notReady++;
    const { targetRef } = endpoint;
    if (!isRecord(targetRef) || targetRef.kind !== "Pod") continue;
    const namespace = targetRef.namespace ?? key.slice(0, key.indexOf("/"));
    if (!pods.get(`${namespace}/${targetRef.name}`)) withoutPod++;
  }
  return { pilot_endpoint_not_ready: notReady, endpoint_no_pod: withoutPod };
}
