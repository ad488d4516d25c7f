/** What is known of the mesh in; istiod's gauges of what lacks something in it, counted when they are asked for, out. */
import type { Collection } from "../collections/index.ts";
import { isRecord } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { Metrics } from "../ops/index.ts";
import type { Registry } from "../registry/index.ts";
import type { ControlledSource } from "./resource-source.ts";

export interface MeasuredModel {
  readonly registry: Pick<Registry, "services" | "endpoints">;
  readonly objects: (group: string, kind: string) => Collection<KubeObject>;
  readonly resources: Pick<ControlledSource, "parts">;
}

export function measureModel(metrics: Metrics, { registry, objects, resources }: MeasuredModel): void {
  metrics.set("istiod_managed_clusters", 1, { cluster_type: "local" });
  metrics.onScrape(() => {
    const { notReady, withoutPod } = endpointCounts(objects("discovery.k8s.io", "EndpointSlice"), objects("", "Pod"));
    metrics.set("pilot_endpoint_not_ready", notReady);
    metrics.set("endpoint_no_pod", withoutPod);
    metrics.set("pilot_eds_no_instances", clustersWithout(registry, "static"));
    metrics.set("pilot_dns_cluster_without_endpoints", clustersWithout(registry, "dns"));
    metrics.set(
      "xds_cache_size",
      resources.parts.values().reduce((sum, { entries }) => sum + entries, 0),
    );
  });
}

/** Each port of a service is a cluster; its endpoints are known here, or found by the names that it declares. */
function clustersWithout({ services, endpoints }: MeasuredModel["registry"], by: "static" | "dns"): number {
  let clusters = 0;
  for (const key of services.keys()) {
    const service = services.get(key);
    if (service?.resolution === by && endpoints(key).length === 0) clusters += service.ports.length;
  }
  return clusters;
}

function endpointCounts(slices: Collection<KubeObject>, pods: Collection<KubeObject>) {
  let [notReady, withoutPod] = [0, 0];
  for (const key of slices.keys()) {
    const endpoints = slices.get(key)?.endpoints;
    for (const endpoint of Array.isArray(endpoints) ? endpoints.filter(isRecord) : []) {
      if (isRecord(endpoint.conditions) && endpoint.conditions.ready === false) notReady++;
      const { targetRef } = endpoint;
      if (!isRecord(targetRef) || targetRef.kind !== "Pod") continue;
      const namespace = targetRef.namespace ?? key.slice(0, key.indexOf("/"));
      if (!pods.get(`${namespace}/${targetRef.name}`)) withoutPod++;
    }
  }
  return { notReady, withoutPod };
}
