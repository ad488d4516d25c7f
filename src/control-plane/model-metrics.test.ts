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
  const { registry, mesh } = createStages({ graph, objects, ...where });
  const metrics = createMetrics();
  let asked = 0;
  const endpoints = (key: string) => {
    asked++;
    return registry.endpoints(key);
  };
  const resources = { withoutService: 7 };
  measureModel(metrics, { graph, registry: { services: registry.services, endpoints }, objects, resources, mesh });
  const told = async (name: string): Promise<string | undefined> =>
    new RegExp(`^${name}(?:{[^}]*})? (\\d+)$`, "m").exec(await metrics.text())?.[1];
  expect(await told("pilot_eds_no_instances")).toBe("4");
  api.apply([slice("full", endpoint("here", true), endpoint("gone", false))]);
  expect(await told("pilot_eds_no_instances")).toBe("2");
  expect(await told("pilot_endpoint_not_ready")).toBe("1");
  expect(await told("endpoint_no_pod")).toBe("1");
  expect(await told("istiod_managed_clusters")).toBe("1");
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
  const { registry, mesh } = createStages({ graph, objects, ...where });
  const metrics = createMetrics();
  measureModel(metrics, { graph, registry, objects, resources: { withoutService: 0 }, mesh });
  const told = async (type: string): Promise<string | undefined> =>
    new RegExp(`^provider_lookup_cluster_failures{type="${type}"} (\\d+)$`, "m").exec(await metrics.text())?.[1];
  expect([await told("envoyOtelAls"), await told("zipkin"), await told("prometheus")]).toEqual(["1", "0", undefined]);
  api.apply([service("gone")]);
  expect(await told("envoyOtelAls")).toBe("0");
});
