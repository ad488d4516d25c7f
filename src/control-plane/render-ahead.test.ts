import { afterEach, expect, test } from "vitest";
import { createGraph } from "../collections/index.ts";
import { createMemorySource } from "../kube/index.ts";
import { silentLogger } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { ProxyNode } from "../xds/index.ts";
import { renderAhead } from "./render-ahead.ts";
import { createStages } from "./stages.ts";
import { sourceOf } from "./testing-source.ts";
import { watchObjects } from "./watched-kinds.ts";

const domain = "cluster.local";
const cluster = "Kubernetes";

const service = (name: string, namespace: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace, resourceVersion: "1", uid: `${namespace}-${name}` },
  spec: { clusterIP: "10.1.0.1", ports: [{ name: "http", port: 80 }], selector: { app: name } },
});

const pod = (name: string, namespace: string, image: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace, resourceVersion: "1", uid: `pod-${namespace}-${name}`, labels: { app: name } },
  spec: { containers: [{ name: "istio-proxy", image, args: ["proxy", "sidecar"] }] },
  status: { podIP: "10.0.0.1", phase: "Running" },
});

const node = (namespace: string, more: Partial<ProxyNode> & { readonly version?: string } = {}): ProxyNode => ({
  id: `sidecar~10.0.0.9~app-1.${namespace}~${namespace}.svc.${domain}`,
  cluster: "",
  metadata: {
    NAMESPACE: namespace,
    MESH_ID: domain,
    WORKLOAD_NAME: "app",
    ISTIO_VERSION: more.version ?? "1.28.0",
    LABELS: { app: "app" },
  },
  locality: { region: "", zone: "", subZone: "" },
  extensions: new Set(),
  userAgent: "",
  ...more,
});

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

function start(objects: readonly KubeObject[]) {
  const graph = createGraph();
  const api = createMemorySource({ graph, objects });
  const stages = createStages({
    ...{ graph, domain, cluster, configMap: "istio-system/istio" },
    objects: watchObjects(api).objects,
  });
  const resources = sourceOf(stages, { domain, cluster });
  const stop = new AbortController();
  closing.push(
    () => stop.abort(),
    () => resources.close(),
  );
  const made = (): ReadonlyMap<string, number> =>
    new Map(["Cluster", "ClusterLoadAssignment"].map((name) => [name, resources.parts.get(name)?.computed ?? 0]));
  return {
    resources,
    made,
    ahead: (times: { readonly waitMs?: number; readonly holdMs?: number } = {}) =>
      renderAhead({
        ...{ resources, classOf: stages.classOf, proxies: stages.likelySidecars, log: silentLogger },
        signal: stop.signal,
        waitMs: 60_000,
        ...times,
      }),
  };
}

const mesh = [service("a", "one"), service("b", "two"), service("c", "two")];

test("a sidecar that comes later finds the clusters and endpoints of its namespace made", async () => {
  const { resources, made, ahead } = start(mesh);
  await ahead();
  const before = made();
  expect(before.get("Cluster")).toBeGreaterThan(0);
  for (const namespace of ["one", "two"]) {
    const session = resources.connect(node(namespace), undefined, () => {});
    await session.ready;
    closing.push(() => session.close());
  }
  expect(made()).toEqual(before);
});

test.each([
  ["docker.io/istio/proxyv2:1.31.2", node("two", { version: "1.31.2" })],
  [
    "ghcr.io/fairlead/fairlead:0.1.0",
    node("two", {
      metadata: { ...node("two").metadata, ISTIO_VERSION: "1.32.0", FAIRLEAD_TELEMETRY: "true" },
      extensions: new Set(["envoy.filters.http.router"]),
    }),
  ],
])("the image %s of a Pod tells what its proxy will be", async (image, connecting) => {
  const { resources, made, ahead } = start([...mesh, pod("c", "two", image)]);
  await ahead();
  const before = made();
  const session = resources.connect(connecting, undefined, () => {});
  await session.ready;
  closing.push(() => session.close());
  expect(made()).toEqual(before);
});

test("where time is up, it goes on until somebody comes", async () => {
  const { resources, made, ahead } = start(mesh);
  await ahead({ waitMs: 0 });
  const clusters = (): number => made().get("Cluster") ?? 0;
  const { made: inAll, ahead: other } = start(mesh);
  await other();
  await expect.poll(clusters).toBe(inAll().get("Cluster"));
  expect(resources.nodes).toBe(0);
});

test("what nobody has come for is let go", async () => {
  const { resources, ahead } = start(mesh);
  await ahead({ holdMs: 1 });
  await expect.poll(() => resources.facets).toBe(0);
  expect([...resources.parts.values()].reduce((sum, { entries }) => sum + entries, 0)).toBe(0);
});

test("no further namespace is begun once a proxy has come", async () => {
  const { resources, made, ahead } = start(mesh);
  const session = resources.connect(node("one"), undefined, () => {});
  await session.ready;
  const before = made();
  await ahead();
  expect(made()).toEqual(before);
  session.close();
});

test("who has come holds what it shares, alone once the time is over", async () => {
  const connected = async (to: ReturnType<typeof start>["resources"]) => {
    const sessions = ["one", "two"].map((namespace) => to.connect(node(namespace), undefined, () => {}));
    for (const session of sessions) await session.ready;
    return sessions;
  };
  const { resources: alone } = start(mesh);
  const others = await connected(alone);
  const { resources, ahead } = start(mesh);
  await ahead({ holdMs: 50 });
  const sessions = await connected(resources);
  await expect.poll(() => resources.facets).toBe(alone.facets);
  for (const session of [...sessions, ...others]) session.close();
  expect(resources.facets).toBe(0);
});
