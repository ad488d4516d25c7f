import { afterEach, expect, test } from "vitest";
import { createGraph } from "../collections/index.ts";
import { createMemorySource } from "../kube/index.ts";
import { silentLogger } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { ProxyNode } from "../xds/index.ts";
import { type FleetRuntime, type RenderAheadOptions, renderAhead } from "./render-ahead.ts";
import { sourceOf } from "./source/testing-source.ts";
import { createStages } from "./stages.ts";
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
    graph,
    resources,
    made,
    api,
    ahead: (times: RenderAheadOptions["times"] = {}, runtime?: FleetRuntime) =>
      renderAhead({
        ...{ resources, proxies: stages.likelySidecars, version: () => graph.version, runtime, log: silentLogger },
        signal: stop.signal,
        times: { waitMs: 60_000, lookMs: 1, ...times },
      }),
    /** Entries of all parts. */
    kept: () => [...resources.parts.values()].reduce((sum, { entries }) => sum + entries, 0),
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

test("what the class of a sidecar follows from is found as well", async () => {
  const { graph, resources, ahead } = start(mesh);
  await ahead();
  // As changes do: what nobody reads goes.
  for (let pass = 0; pass < 3; pass++) graph.sweep();
  const lookUps = async (namespace: string, name: string): Promise<number> => {
    const before = graph.reads;
    const { metadata, ...rest } = node(namespace);
    const id = rest.id.replace("10.0.0.9", `10.0.1.${resources.nodes}`);
    const own = { ...metadata, LABELS: { "service.istio.io/canonical-name": name } };
    const session = resources.connect({ ...rest, id, metadata: own }, undefined, () => {});
    await session.ready;
    closing.push(() => session.close());
    return graph.reads - before;
  };
  // Names as long as these have templates that all namespaces share.
  await lookUps("one", "name");
  const first = await lookUps("two", "this");
  // Only a proxy itself says where it is, and so what it may serve.
  expect(first).toBeLessThanOrEqual((await lookUps("two", "that")) + 1);
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

test("it is made again when objects have come and gone, for as long as nobody is connected", async () => {
  const { api, resources, made, kept, ahead } = start([]);
  await ahead();
  expect(kept()).toBe(0);
  api.apply(mesh);
  await expect.poll(() => resources.facets).toBeGreaterThan(0);
  await expect.poll(() => made().get("Cluster")).toBeGreaterThan(0);
  for (const object of mesh) api.remove(object);
  await expect.poll(kept).toBe(0);
  expect(resources.facets).toBe(0);
});

test("it is made again when all have gone", async () => {
  const { resources, ahead } = start(mesh);
  await ahead({ holdMs: 1 });
  const { facets } = resources;
  const session = resources.connect(node("one"), undefined, () => {});
  await session.ready;
  await expect.poll(() => resources.facets).toBeLessThan(facets);
  session.close();
  await expect.poll(() => resources.facets).toBe(facets);
});

test("the runtime hears who may come, and when there is something to collect", async () => {
  const { api, resources, ahead } = start(mesh);
  const heard: string[] = [];
  const hear = { expect: (is: boolean) => void heard.push(`expect ${is}`), collect: () => void heard.push("collect") };
  await ahead({ comingMs: 1 }, hear);
  expect(heard).toEqual(["expect true"]);
  api.apply([service("d", "three")]);
  await expect.poll(() => heard).toEqual(["expect true", "collect"]);
  const session = resources.connect(node("one"), undefined, () => {});
  await expect.poll(() => heard).toEqual(["expect true", "collect", "expect false"]);
  api.apply([service("e", "four")]);
  session.close();
  await expect.poll(() => heard.slice(3)).toEqual(["expect true", "collect"]);
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

test("what was broken off as a proxy came is made once that has gone, though nothing has changed", async () => {
  const { resources: others, ahead: whole } = start(mesh);
  await whole();
  const { resources, ahead } = start(mesh);
  const session = resources.connect(node("one"), undefined, () => {});
  await session.ready;
  await ahead();
  session.close();
  expect(resources.facets).toBe(0);
  await expect.poll(() => resources.facets).toBe(others.facets);
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
