import { expect, test } from "vitest";
import { createGraph } from "../collections/index.ts";
import { createMemorySource } from "../kube/index.ts";
import type { KubeObject } from "../model/index.ts";
import { createMetrics } from "../ops/index.ts";
import { measureModel } from "./model-metrics.ts";
import { createStages } from "./stages.ts";
import { watchObjects } from "./watched-kinds.ts";

const service = (name: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace: "default" },
  spec: {
    clusterIP: "10.96.0.1",
    ports: [
      { name: "http", port: 80 },
      { name: "tcp", port: 81 },
    ],
  },
});
const endpoint = (pod: string, ready: boolean): object => ({
  addresses: ["10.0.0.1"],
  conditions: { ready },
  targetRef: { kind: "Pod", name: pod, namespace: "default" },
});
const slice = (of: string, ...endpoints: readonly object[]): KubeObject => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name: `${of}-1`, namespace: "default", labels: { "kubernetes.io/service-name": of } },
  addressType: "IPv4",
  ports: [{ name: "http", port: 8080 }],
  endpoints,
});
const pod: KubeObject = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "here", namespace: "default" },
  spec: {},
  status: { podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }], phase: "Running" },
};

test("what lacks something is counted as it changes, and nothing is passed over when the figures are asked for", async () => {
  const graph = createGraph();
  const api = createMemorySource({ graph, objects: [service("empty"), service("full"), pod] });
  const { objects } = watchObjects(api);
  const where = { domain: "cluster.local", cluster: "Kubernetes", configMap: "istio-system/istio" };
  const { registry, mesh, settings } = createStages({ graph, objects, ...where });
  const metrics = createMetrics();
  let asked = 0;
  const endpoints = (key: string) => {
    asked++;
    return registry.endpoints(key);
  };
  const resources = { withoutService: 7 };
  measureModel(metrics, {
    graph,
    registry: { services: registry.services, endpoints },
    objects,
    resources,
    mesh,
    settings,
  });
  const told = async (name: string): Promise<string | undefined> =>
    new RegExp(`^${name}(?:{[^}]*})? (\\d+)$`, "m").exec(await metrics.text())?.[1];
  expect(await told("pilot_eds_no_instances")).toBe("4");
  api.apply([slice("full", endpoint("here", true), endpoint("gone", false))]);
  expect(await told("pilot_eds_no_instances")).toBe("2");
  expect(await told("pilot_endpoint_not_ready")).toBe("1");
  expect(await told("endpoint_no_pod")).toBe("1");
  expect(await metrics.text()).toMatch(/^istiod_managed_clusters\{cluster_type="local"\} 1$/m);
  expect(await told("pilot_no_ip")).toBe("7");
  api.remove(pod);
  expect(await told("endpoint_no_pod")).toBe("2");
  // An endpoint whose Pod has gone is none.
  expect(await told("pilot_eds_no_instances")).toBe("4");
  api.remove(service("empty"));
  const before = asked;
  expect(await told("pilot_eds_no_instances")).toBe("2");
  expect(asked).toBe(before);
});

test("endpoints whose Pods are not known are told while they wait, and counted when their slice is read", async () => {
  const graph = createGraph();
  const api = createMemorySource({ graph, objects: [service("a"), service("b")] });
  const { objects } = watchObjects(api);
  const where = { domain: "cluster.local", cluster: "Kubernetes", configMap: "istio-system/istio" };
  const { registry, mesh, settings } = createStages({ graph, objects, ...where });
  api.apply([slice("a", endpoint("here", true))]);
  const metrics = createMetrics();
  measureModel(metrics, { graph, registry, objects, resources: { withoutService: 0 }, mesh, settings });
  const told = async () => {
    const text = await metrics.text();
    return ["pilot_k8s_endpoints_pending_pod", "pilot_k8s_endpoints_with_no_pods"].map(
      (name) => new RegExp(`^${name} \\d+$`, "m").exec(text)?.[0],
    );
  };
  expect(await told()).toEqual(["pilot_k8s_endpoints_pending_pod 1", "pilot_k8s_endpoints_with_no_pods 1"]);
  // The same address behind another Service.
  api.apply([slice("b", endpoint("here", true))]);
  expect(await told()).toEqual(["pilot_k8s_endpoints_pending_pod 1", "pilot_k8s_endpoints_with_no_pods 2"]);
  expect(registry.endpoints("default/a.default.svc.cluster.local")).toEqual([]);
  api.apply([pod]);
  expect(await told()).toEqual(["pilot_k8s_endpoints_pending_pod 0", "pilot_k8s_endpoints_with_no_pods 2"]);
  // A Pod that goes before its endpoints is nothing out of the ordinary.
  api.remove(pod);
  expect(await told()).toEqual(["pilot_k8s_endpoints_pending_pod 1", "pilot_k8s_endpoints_with_no_pods 2"]);
  api.remove(slice("a"));
  api.remove(slice("b"));
  expect(await told()).toEqual(["pilot_k8s_endpoints_pending_pod 0", "pilot_k8s_endpoints_with_no_pods 2"]);
});

test("a host that is looked up by its workloads' names and has none is a cluster without endpoints, for each port", async () => {
  const graph = createGraph();
  const entry: KubeObject = {
    ...{ apiVersion: "networking.istio.io/v1", kind: "ServiceEntry", metadata: { name: "db", namespace: "default" } },
    spec: {
      hosts: ["db.example.com"],
      resolution: "DNS",
      ports: [
        { number: 3306, name: "mysql", protocol: "TCP" },
        { number: 80, name: "http", protocol: "HTTP" },
      ],
      workloadSelector: { labels: { app: "db" } },
    },
  };
  const api = createMemorySource({ graph, objects: [entry] });
  const { objects } = watchObjects(api);
  const where = { domain: "cluster.local", cluster: "Kubernetes", configMap: "istio-system/istio" };
  const stages = createStages({ graph, objects, ...where });
  const metrics = createMetrics();
  measureModel(metrics, { ...stages, graph, objects, resources: { withoutService: 0 } });
  expect(await metrics.text()).toMatch(/^pilot_dns_cluster_without_endpoints 2$/m);
  api.apply([
    {
      ...{ apiVersion: "networking.istio.io/v1", kind: "WorkloadEntry", metadata: { name: "w", namespace: "default" } },
      spec: { address: "w.example.com", labels: { app: "db" } },
    },
  ]);
  expect(await metrics.text()).toMatch(/^pilot_dns_cluster_without_endpoints 0$/m);
});

test("slices that discoverySelectors leave out wait for nothing", async () => {
  const graph = createGraph();
  const selectors = [{ matchLabels: { mesh: "yes" } }];
  const config: KubeObject = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "istio", namespace: "istio-system" },
    data: { mesh: JSON.stringify({ discoverySelectors: selectors }) },
  };
  const api = createMemorySource({ graph, objects: [config, slice("a", endpoint("gone", false))] });
  const { objects } = watchObjects(api);
  const where = { domain: "cluster.local", cluster: "Kubernetes", configMap: "istio-system/istio" };
  const stages = createStages({ graph, objects, ...where });
  const metrics = createMetrics();
  measureModel(metrics, { ...stages, graph, objects, resources: { withoutService: 0 } });
  const text = await metrics.text();
  for (const name of ["endpoints_pending_pod", "endpoints_with_no_pods"])
    expect(text).toMatch(new RegExp(`^pilot_k8s_${name} 0$`, "m"));
  expect(text).toMatch(/^pilot_endpoint_not_ready 0$/m);
});

test("an extension provider whose service is not there is told by its type", async () => {
  const graph = createGraph();
  const providers = [
    { name: "a", envoyOtelAls: { service: "empty.default.svc.cluster.local", port: 80 } },
    { name: "b", envoyOtelAls: { service: "gone.default.svc.cluster.local", port: 80 } },
    { name: "c", zipkin: { service: "default/empty.default.svc.cluster.local", port: 80 } },
    { name: "d", prometheus: {} },
  ];
  const config: KubeObject = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "istio", namespace: "istio-system" },
    data: { mesh: JSON.stringify({ extensionProviders: providers }) },
  };
  const api = createMemorySource({ graph, objects: [service("empty"), config] });
  const { objects } = watchObjects(api);
  const where = { domain: "cluster.local", cluster: "Kubernetes", configMap: "istio-system/istio" };
  const { registry, mesh, settings } = createStages({ graph, objects, ...where });
  const metrics = createMetrics();
  measureModel(metrics, { graph, registry, objects, resources: { withoutService: 0 }, mesh, settings });
  const told = await metrics.text();
  expect(told).toMatch(/^provider_lookup_cluster_failures\{type="envoyOtelAls"\} 1$/m);
  expect(told).toMatch(/^provider_lookup_cluster_failures\{type="zipkin"\} 0$/m);
  expect(told).not.toMatch(/^provider_lookup_cluster_failures\{type="prometheus"/m);
  api.apply([service("gone")]);
  expect(await metrics.text()).toMatch(/^provider_lookup_cluster_failures\{type="envoyOtelAls"\} 0$/m);
});
