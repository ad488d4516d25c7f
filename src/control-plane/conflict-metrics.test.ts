import { expect, test } from "vitest";
import { createGraph } from "../collections/index.ts";
import { createMemorySource } from "../kube/index.ts";
import type { KubeObject, ProxyClass } from "../model/index.ts";
import { createMetrics } from "../ops/index.ts";
import { measureConflicts } from "./conflict-metrics.ts";
import { createStages } from "./stages.ts";
import { watchObjects } from "./watched-kinds.ts";

const object = (apiVersion: string, kind: string, name: string, spec: object): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, namespace: "default" },
  spec,
});
const networking = "networking.istio.io/v1";
const route = (name: string, ...hosts: readonly string[]): KubeObject =>
  object(networking, "VirtualService", name, { hosts, http: [{ route: [{ destination: { host: "web" } }] }] });
const rule = (name: string, ...subsets: readonly string[]): KubeObject =>
  object(networking, "DestinationRule", name, { host: "web", subsets: subsets.map((subset) => ({ name: subset })) });
const entry = (name: string, protocol: string): KubeObject =>
  object(networking, "ServiceEntry", name, {
    hosts: [`${name}.example.com`],
    resolution: "DNS",
    ports: [{ number: 9000, name: "p", protocol }],
  });
const service = (name: string, port: string): KubeObject =>
  object("v1", "Service", name, { clusterIP: "10.96.0.1", ports: [{ name: port, port: 80, targetPort: 8080 }] });

test("objects that get in each other's way are counted as they come and go", async () => {
  const graph = createGraph();
  const api = createMemorySource({ graph, objects: [service("web", "http"), service("other", "tcp")] });
  const { objects } = watchObjects(api);
  const where = { domain: "cluster.local", cluster: "Kubernetes", configMap: "istio-system/istio" };
  const { registry, configs } = createStages({ graph, objects, ...where });
  const metrics = createMetrics();
  const target = (name: string, portName: string) => ({
    ...{ service: `default/${name}.default.svc.cluster.local`, portName, port: 80 },
    targetPort: 8080,
  });
  let classes: readonly Pick<ProxyClass, "targets">[] = [{ targets: [target("web", "http")] }];
  measureConflicts(metrics, {
    graph,
    domain: where.domain,
    services: registry.services,
    ...configs,
    classes: () => classes,
  });
  /** Those that are not zero. */
  const told = async (): Promise<readonly string[]> =>
    (await metrics.text()).split("\n").filter((line) => /^pilot_\w+ [^0]/.test(line));
  expect(await told()).toEqual([]);
  api.apply([route("a", "web"), route("b", "web.default.svc.cluster.local", "c.example.com"), rule("a", "v1", "v2")]);
  api.apply([rule("b", "v2"), entry("one", "TCP"), entry("two", "TCP"), entry("three", "HTTP")]);
  classes = [{ targets: [target("web", "http"), target("other", "tcp")] }];
  expect((await told()).toSorted()).toEqual([
    "pilot_conflict_inbound_listener 1",
    "pilot_conflict_outbound_listener_tcp_over_current_tcp 1",
    "pilot_destrule_subsets 1",
    "pilot_vservice_dup_domain 1",
  ]);
  api.remove(route("b"));
  api.apply([rule("b", "v3")]);
  api.remove(entry("two", "TCP"));
  classes = [];
  expect(await told()).toEqual([]);

  const { entries } = graph;
  const many = Array.from({ length: 1_000 }, (_, i) => `h${i}.example.com`);
  api.apply([route("many", ...many)]);
  expect(graph.entries - entries).toBeLessThan(50);
  api.apply([route("other", ...many.slice(500))]);
  expect(await told()).toEqual(["pilot_vservice_dup_domain 500"]);
});

test.each([
  ["UDP", "TCP"],
  ["TCP", "UDP"],
])("one number for %s and %s is no conflict of a workload's port; another protocol of TCP is", async (...protocols) => {
  const graph = createGraph();
  const ports = protocols.map((protocol) => ({ name: `http-${protocol}`.toLowerCase(), port: 80, protocol }));
  const both = object("v1", "Service", "web", { clusterIP: "10.96.0.1", ports });
  const { objects } = watchObjects(createMemorySource({ graph, objects: [both, service("other", "tcp")] }));
  const where = { domain: "cluster.local", cluster: "Kubernetes", configMap: "istio-system/istio" };
  const { registry, configs } = createStages({ graph, objects, ...where });
  const metrics = createMetrics();
  const target = (name: string, portName: string) => ({
    ...{ service: `default/${name}.default.svc.cluster.local`, portName, port: 80, targetPort: 80 },
  });
  let targets = ports.map(({ name }) => target("web", name));
  const { services } = registry;
  measureConflicts(metrics, { graph, domain: where.domain, services, ...configs, classes: () => [{ targets }] });
  expect(await metrics.text()).toMatch(/^pilot_conflict_inbound_listener 0$/m);
  targets = [...targets, target("other", "tcp")];
  expect(await metrics.text()).toMatch(/^pilot_conflict_inbound_listener 1$/m);
});
