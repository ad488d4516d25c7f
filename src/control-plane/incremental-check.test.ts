import { afterEach, expect, test } from "vitest";
import { createGraph } from "../collections/index.ts";
import { createMemorySource } from "../kube/index.ts";
import { silentLogger } from "../lib/index.ts";
import { type Config, type EnvoyFilterSpec, type KubeObject, types } from "../model/index.ts";
import { createMetrics } from "../ops/index.ts";
import type { ProxyNode, ProxyProgress } from "../xds/index.ts";
import { createIncrementalCheck, incrementalReports } from "./incremental-check.ts";
import { createFreshSource } from "./source/fresh-source.ts";
import { sourceOf } from "./source/testing-source.ts";
import { createStages } from "./stages.ts";
import { watchObjects } from "./watched-kinds.ts";

const options = { domain: "cluster.local", cluster: "Kubernetes", configMap: "istio-system/istio" };

const node: ProxyNode = {
  id: "sidecar~10.0.0.1~client.default~default.svc.cluster.local",
  cluster: "",
  metadata: { NAMESPACE: "default" },
  locality: { region: "", zone: "", subZone: "" },
  extensions: new Set(),
  userAgent: "",
};

const service = (name: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace: "default" },
  spec: { clusterIP: "10.96.0.1", ports: [{ name: "tcp", port: 9000 }] },
});

const envoyFilter = (generation: number, timeout: string): KubeObject => ({
  apiVersion: "networking.istio.io/v1alpha3",
  kind: "EnvoyFilter",
  metadata: { name: "patch", namespace: "default", generation },
  spec: {
    configPatches: [
      {
        applyTo: "CLUSTER",
        match: { context: "SIDECAR_OUTBOUND" },
        patch: { operation: "MERGE", value: { connect_timeout: timeout } },
      },
    ],
  },
});

let stop = new AbortController();
afterEach(() => {
  stop.abort();
  stop = new AbortController();
});

/** A control plane with one proxy; what a fresh start knows is asked for each time. */
async function start(
  knownAfresh: (objects: readonly KubeObject[], api: { apply(objects: KubeObject[]): void }) => readonly KubeObject[],
  onFlush = (): void => {},
  more: { readonly sample?: number; readonly progress?: () => Iterable<ProxyProgress> } = {},
) {
  const graph = createGraph();
  const api = createMemorySource({ graph });
  const watched = watchObjects(api);
  const keptEnvoyFilters = graph.source<Config<EnvoyFilterSpec>>("kept");
  const stages = createStages({ ...options, graph, keptEnvoyFilters, objects: watched.objects });
  const source = sourceOf(stages, options);
  const metrics = createMetrics();
  const reports = incrementalReports(metrics, silentLogger);
  const told: string[] = [];
  const checked = createIncrementalCheck({
    graph,
    source: {
      ...source,
      get made() {
        return source.made;
      },
      async flush() {
        await source.flush();
        onFlush();
      },
    },
    secondLookMs: 20,
    ...more,
    fresh: () => createFreshSource(knownAfresh(watched.all(), api), { ...options, keptEnvoyFilters }),
    onChecked: (differences) => {
      reports.onChecked(differences);
      told.push(...differences.map(({ type, name }) => `${type} ${name}`));
    },
    onFault: (error) => told.push(`${error}`),
    signal: stop.signal,
  });
  checked.connect(node, undefined, () => {}).all(types.cluster);
  await checked.look();
  return {
    api,
    look: checked.look,
    metrics: metrics.text,
    /** A proxy of its own, with more metadata; its names are looked at with the next change. */
    join: (metadata: object) =>
      checked.connect({ ...node, metadata: { ...node.metadata, ...metadata } }, undefined, () => {}),
    /** From the first proxy: an EnvoyFilter, with a generation of it that the proxy has instead. */
    withhold(key: string, instead?: string): void {
      const kept = instead === undefined ? undefined : stages.configs.envoyFilters.get(key);
      if (kept && instead !== undefined) keptEnvoyFilters.set(instead, kept);
      source.withhold(node, new Map([[key, instead]]));
    },
    madeFrom: (name: string) =>
      `${source
        .rendererOf(node)
        ?.causes(types.cluster, name)
        .map(({ object }) => object)}`,
    connect: (namespace = "other") =>
      checked.connect(
        { ...node, id: node.id.replaceAll("default", namespace), metadata: { NAMESPACE: namespace } },
        undefined,
        () => {},
      ),
    /** What was found different after the change. */
    async apply(object: KubeObject): Promise<readonly string[]> {
      await checked.look();
      told.length = 0;
      api.apply([object]);
      await checked.look();
      return [...told];
    },
  };
}

test("nothing differs where a change reached the proxy", async () => {
  const world = await start((objects) => objects);
  expect(await world.apply(service("a"))).toEqual([]);
  expect(await world.metrics()).toMatch(/^fairlead_incremental_checks 2$/m);
  expect(await world.metrics()).not.toMatch(/^fairlead_incremental_differences/m);
});

test("what a fresh start would give differently is told by name, and counted", async () => {
  const world = await start((objects) => objects.filter(({ metadata }) => metadata.name !== "a"));
  const told = await world.apply(service("a"));
  expect(told).toEqual(
    expect.arrayContaining([
      `${types.cluster} outbound|9000||a.default.svc.cluster.local`,
      `${types.listener} 10.96.0.1_9000`,
    ]),
  );
  expect(await world.metrics()).toContain(`\nfairlead_incremental_differences ${told.length}\n`);
});

test("what differs only until the mesh changes again is no difference", async () => {
  let hidden = 0;
  const world = await start((objects, api) => {
    if (!objects.some(({ metadata }) => metadata.name === "a")) return objects;
    hidden++;
    // The second look, which would tell whether it stays so, comes in the middle of a change.
    if (hidden === 2) api.apply([service("b")]);
    return hidden > 2 ? objects : objects.filter(({ metadata }) => metadata.name !== "a");
  });
  expect(await world.apply(service("a"))).toEqual([]);
  expect(hidden).toBeGreaterThan(2);
});

test("a proxy that goes before it is looked at ends no comparison", async () => {
  let leave = (): void => {};
  const world = await start(
    (objects) => objects,
    () => leave(),
  );
  const other = world.connect();
  let isThere = true;
  leave = () => {
    if (isThere) other.close();
    isThere = false;
  };
  expect(await world.apply(service("a"))).toEqual([]);
  expect(isThere).toBe(false);
});

const host = "a.default.svc.cluster.local";

test("EnvoyFilters that are withheld from a proxy are no difference", async () => {
  const world = await start((objects) => objects);
  await world.apply(service("a"));
  await world.apply(envoyFilter(1, "3s"));
  world.withhold("default/patch");
  expect(await world.apply(service("b"))).toEqual([]);
  expect(world.madeFrom(`outbound|9000||${host}`)).not.toContain("EnvoyFilter");
});

test("a generation before that a proxy has instead of an EnvoyFilter is no difference", async () => {
  const world = await start((objects) => objects);
  await world.apply(service("a"));
  await world.apply(envoyFilter(1, "3s"));
  world.withhold("default/patch", "default/patch@1");
  expect(await world.apply(envoyFilter(2, "4s"))).toEqual([]);
  expect(world.madeFrom(`outbound|9000||${host}`)).toContain("EnvoyFilter");
});

test("what a proxy asks for by name, as gRPC clients do, is compared until it is given up", async () => {
  let isHidden = false;
  const world = await start((objects) => objects.filter(({ metadata }) => !isHidden || metadata.name !== "a"));
  await world.apply(service("a"));
  const grpc = world.join({ GENERATOR: "grpc" });
  expect(grpc.all(types.cluster).size).toBe(0);
  expect(grpc.get(types.listener, `${host}:9000`)).toBeDefined();
  isHidden = true;
  expect(await world.apply(service("b"))).toContain(`${types.listener} ${host}:9000`);
  grpc.forget(types.listener, `${host}:9000`);
  expect(await world.apply(service("c"))).not.toContain(`${types.listener} ${host}:9000`);
});

test("the names that an agent resolves are compared where it has asked for them", async () => {
  let isHidden = false;
  const world = await start((objects) => objects.filter(({ metadata }) => !isHidden || metadata.name !== "a"));
  const resolving = world.join({ DNS_CAPTURE: "true" });
  await world.apply(service("a"));
  isHidden = true;
  const before = await world.apply(service("b"));
  expect(before.filter((one) => one.startsWith(types.nameTable))).toEqual([]);
  expect(resolving.all(types.nameTable).size).toBe(1);
  const found = await world.apply(service("c"));
  expect(found.filter((one) => one.startsWith(types.nameTable)).length).toBe(1);
});

const checks = async (world: { metrics(): Promise<string> }): Promise<number> =>
  Number(/^fairlead_incremental_checks (\d+)$/m.exec(await world.metrics())?.[1] ?? 0);

test("after a change all proxies are looked at, a few at a time", async () => {
  let isHidden = false;
  const world = await start(
    (objects) => objects.filter(({ metadata }) => !isHidden || metadata.name !== "a"),
    undefined,
    {
      sample: 2,
    },
  );
  for (const namespace of ["b", "c", "d", "e"]) world.connect(namespace);
  await world.look();
  const before = await checks(world);
  await world.apply(service("b"));
  expect(await checks(world)).toBe(before + 3);
  isHidden = true;
  const told = await world.apply(service("a"));
  expect(told.filter((one) => one === `${types.cluster} outbound|9000||${host}`)).toHaveLength(5);
});

test("where nothing changes, and all were looked at, nothing is compared", async () => {
  const world = await start((objects) => objects);
  const before = await checks(world);
  await world.look();
  expect(await checks(world)).toBe(before);
});

test("a mesh that changes during each comparison is compared all the same", async () => {
  let count = 0;
  let isMoving = false;
  const world = await start((objects, api) => {
    if (isMoving) api.apply([service(`other-${++count}`)]);
    return objects;
  });
  isMoving = true;
  world.api.apply([service("a")]);
  const before = await checks(world);
  await expect.poll(() => checks(world)).toBeGreaterThan(before + 1);
  expect(count).toBeGreaterThan(1);
  expect(await world.metrics()).not.toMatch(/^fairlead_incremental_differences/m);
});

test("what stays outdated while the mesh changes all the time is told", async () => {
  let count = 0;
  let isMoving = false;
  const world = await start((objects, api) => {
    if (isMoving) api.apply([service(`other-${++count}`)]);
    return objects.filter(({ metadata }) => metadata.name !== "a");
  });
  isMoving = true;
  world.api.apply([service("a")]);
  await expect.poll(() => world.metrics(), { timeout: 20_000 }).toMatch(/^fairlead_incremental_differences [1-9]/m);
});

test("what a stream was sent last is compared, too, where it is in step", async () => {
  let isBehind = false;
  const cluster = `${types.cluster} outbound|9000||${host}`;
  const sent: ProxyProgress["sent"] = (type) =>
    isBehind && type === types.cluster ? { isAll: true, resources: new Map() } : undefined;
  const progress = { node, isSettled: () => true, sent } as ProxyProgress;
  const world = await start((objects) => objects, undefined, { progress: () => [progress] });
  expect(await world.apply(service("a"))).toEqual([]);
  isBehind = true;
  expect(await world.apply(service("b"))).toContain(cluster);
});
