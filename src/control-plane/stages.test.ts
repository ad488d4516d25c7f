import { describe, expect, test } from "vitest";
import type { KubeObject } from "../model/index.ts";
import { createOffline } from "./index.ts";

const count = 1000;
const host = (i: number): string => `svc-${i}.shop.svc.cluster.local`;
const key = (i: number): string => `shop/${host(i)}`;

const service = (i: number, port = 80): KubeObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: `svc-${i}`, namespace: "shop" },
  spec: {
    clusterIP: `10.1.${i >> 8}.${i & 255}`,
    selector: { app: `svc-${i}` },
    ports: [{ name: "http", port, targetPort: 8080, protocol: "TCP" }],
  },
});
const pod = (i: number, extra: Readonly<Record<string, unknown>> = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: `pod-${i}`, namespace: "shop", labels: { app: `svc-${i}` } },
  spec: { serviceAccountName: "default", nodeName: "node" },
  status: { podIP: `10.2.${i >> 8}.${i & 255}`, conditions: [{ type: "Ready", status: "True" }], ...extra },
});
const slice = (i: number, ready = true): KubeObject => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name: `svc-${i}-a`, namespace: "shop", labels: { "kubernetes.io/service-name": `svc-${i}` } },
  addressType: "IPv4",
  ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  endpoints: [
    {
      addresses: [`10.2.${i >> 8}.${i & 255}`],
      conditions: { ready },
      targetRef: { kind: "Pod", name: `pod-${i}`, namespace: "shop" },
    },
  ],
});
const virtualService = (i: number, timeout: string): KubeObject => ({
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
  metadata: { name: `route-${i}`, namespace: "shop" },
  spec: { hosts: [`svc-${i}`], http: [{ route: [{ destination: { host: `svc-${i}` } }], timeout }] },
});
const destinationRule = (i: number, connections: number): KubeObject => ({
  apiVersion: "networking.istio.io/v1",
  kind: "DestinationRule",
  metadata: { name: `rule-${i}`, namespace: "shop" },
  spec: { host: `svc-${i}`, trafficPolicy: { connectionPool: { tcp: { maxConnections: connections } } } },
});

/** A memo per service that reads what clusters, endpoints and routes of it are made from, as rendering does. */
function setUp() {
  const numbers = Array.from({ length: count }, (_, i) => i);
  const objects = numbers.flatMap((i) => [service(i), pod(i), slice(i), virtualService(i, "1s")]);
  const { mesh, source } = createOffline({ objects });
  const scope = mesh.scope("shop", {});
  const lists = mesh.graph.memo("lists", () => [scope.services, scope.egress[0]?.virtualServiceKeys]);
  const clusters = mesh.graph.memo("cluster", (id) => [
    scope.service(id),
    scope.destinationRule(id, {}),
    mesh.identities(id),
  ]);
  const endpoints = mesh.graph.memo("endpoint", (id) => mesh.endpointsByName(id, "http"));
  const routes = mesh.graph.memo("route", (id) => {
    const found = scope.egress[0]?.virtualServiceFor(id.slice(id.indexOf("/") + 1));
    return found === undefined ? undefined : mesh.virtualService(found);
  });
  const read = (): readonly number[] => {
    const before = [lists, clusters, endpoints, routes].map((memo) => memo.computed);
    lists.get("");
    for (const id of scope.services) for (const memo of [clusters, endpoints, routes]) memo.get(id);
    return [lists, clusters, endpoints, routes].map((memo, i) => memo.computed - (before[i] ?? 0));
  };
  return { mesh, source, scope, clusters, endpoints, routes, read };
}

describe("a change costs its own size", () => {
  const stage = setUp();

  test("everything is computed once", () => {
    expect(stage.read()).toEqual([1, count, count, count]);
    expect(stage.read()).toEqual([0, 0, 0, 0]);
  });

  test("one VirtualService: its own route", () => {
    stage.source.apply([virtualService(7, "2s")]);
    expect(stage.read()).toEqual([0, 0, 0, 1]);
    expect(stage.routes.get(key(7))?.spec.http?.[0]?.timeout).toBe("2s");
  });

  test("one endpoint: its own assignment", () => {
    stage.source.apply([slice(7, false)]);
    expect(stage.read()).toEqual([0, 0, 1, 0]);
    expect(stage.endpoints.get(key(7))[0]?.health).toBe("terminating");
  });

  test("one DestinationRule: the cluster of its host, also when it is the first", () => {
    stage.source.apply([destinationRule(9, 5)]);
    expect(stage.read()).toEqual([0, 1, 0, 0]);
    stage.source.apply([destinationRule(9, 6)]);
    expect(stage.read()).toEqual([0, 1, 0, 0]);
  });

  test("one Service's port: its own cluster, and no list", () => {
    stage.source.apply([service(9, 81)]);
    expect(stage.read()).toEqual([0, 1, 0, 0]);
  });

  test("a heartbeat of a pod: nothing", () => {
    stage.source.apply([pod(9, { startTime: "2026-01-01T00:00:00Z" })]);
    expect(stage.read()).toEqual([0, 0, 0, 0]);
  });

  test("a new Service: the lists, and itself", () => {
    stage.source.apply([service(count)]);
    expect(stage.read()).toEqual([1, 1, 1, 1]);
  });

  test("a part knows the objects it came from", () => {
    expect(stage.routes.causes(key(7)).map((cause) => cause.object)).toContain("VirtualService/shop/route-7");
    expect(stage.endpoints.causes(key(7)).map((cause) => cause.object)).toEqual(
      expect.arrayContaining(["EndpointSlice/shop/svc-7-a", "Pod/shop/pod-7"]),
    );
  });
});
