/** One contract for every ObjectSource: in memory, and over HTTP on the embedded API or a given cluster. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApi } from "../../src/apiserver/testing.ts";
import { createGraph, type Graph } from "../../src/collections/index.ts";
import {
  apiStatus,
  createHttpSource,
  createKubeClient,
  createMemorySource,
  type KindRef,
  type KubeClient,
  loadKubeconfig,
  type ObjectSource,
  requestToken,
  reviewAccess,
  reviewToken,
} from "../../src/kube/index.ts";
import { silentLogger } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { type Cluster, openCluster } from "../cluster/cluster.ts";

const configMaps: KindRef = { group: "", version: "v1", plural: "configmaps", kind: "ConfigMap", namespaced: true };
const virtualServices: KindRef = {
  group: "networking.istio.io",
  version: "v1",
  plural: "virtualservices",
  kind: "VirtualService",
  namespaced: true,
};
const namespaces: KindRef = { group: "", version: "v1", plural: "namespaces", kind: "Namespace", namespaced: false };
const configMap = (name: string, value: string, labels: Record<string, string> = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace, labels: { of: "object-source", ...labels } },
  data: { value },
});

interface Backend {
  readonly source: ObjectSource;
  apply(object: KubeObject): Promise<void>;
  remove(object: KubeObject): Promise<void>;
}

let cluster: Cluster;
let client: KubeClient;
let namespace = "";
beforeAll(async () => {
  cluster = await openCluster();
  client = cluster.admin;
  namespace = await cluster.namespace();
});
afterAll(() => cluster.close());
/** What these tests write; a cluster has more. */
const ours = { labelSelector: "of=object-source" };

const http = (graph: Graph): ObjectSource =>
  createHttpSource({ graph, client, log: silentLogger, random: Math.random, pageSize: 2, maxBackoffMs: 200 });
const backends: readonly (readonly [string, (graph: Graph) => Backend])[] = [
  [
    "in memory",
    (graph) => {
      const source = createMemorySource({ graph });
      return {
        source,
        apply: async (object) => source.apply([object]),
        remove: async (object) => source.remove(object),
      };
    },
  ],
  [
    "over HTTP",
    (graph) => ({
      source: http(graph),
      apply: async (object) => {
        const plural = object.kind === "ConfigMap" ? configMaps : virtualServices;
        await client.patch(plural, object.metadata, "apply", object, { fieldManager: "test", force: true });
      },
      remove: (object) => client.delete(object.kind === "ConfigMap" ? configMaps : virtualServices, object.metadata),
    }),
  ],
];

describe.each(backends)("ObjectSource %s", (_name, create) => {
  test("what is there before and what comes later are one collection", async () => {
    const graph = createGraph();
    const { source, apply, remove } = create(graph);
    for (const name of ["a", "b", "c"]) await apply(configMap(name, "1"));
    const watched = source.watchKind(configMaps, ours);
    await watched.synced;
    expect(watched.objects.keys()).toEqual([`${namespace}/a`, `${namespace}/b`, `${namespace}/c`]);
    expect(watched.objects.get(`${namespace}/a`)).toMatchObject({
      kind: "ConfigMap",
      apiVersion: "v1",
      data: { value: "1" },
    });
    expect(watched.objects.get(`${namespace}/a`)?.metadata).not.toHaveProperty("managedFields");

    const changed = next(watched.objects, `${namespace}/b`);
    await apply(configMap("b", "2"));
    expect((await changed)?.data).toEqual({ value: "2" });
    const gone = next(watched.objects, `${namespace}/c`);
    await remove(configMap("c", "1"));
    expect(await gone).toBeUndefined();
    for (const name of ["a", "b"]) await remove(configMap(name, ""));
    source.close();
  });

  test("a selector narrows, and an object that no longer matches leaves", async () => {
    const graph = createGraph();
    const { source, apply, remove } = create(graph);
    await apply(configMap("in", "1", { on: "yes" }));
    await apply(configMap("out", "1"));
    const watched = source.watchKind(configMaps, { labelSelector: "on=yes" });
    await watched.synced;
    expect(watched.objects.keys()).toEqual([`${namespace}/in`]);
    const gone = next(watched.objects, `${namespace}/in`);
    await apply(configMap("in", "1", { on: "no" }));
    expect(await gone).toBeUndefined();
    for (const name of ["in", "out"]) await remove(configMap(name, ""));
    source.close();
  });

  test("provenance names the object", async () => {
    const graph = createGraph();
    const { source, apply, remove } = create(graph);
    const object: KubeObject = {
      apiVersion: "networking.istio.io/v1",
      kind: "VirtualService",
      metadata: { name: "v", namespace },
      spec: { hosts: ["a"] },
    };
    await apply(object);
    const watched = source.watchKind(virtualServices);
    await watched.synced;
    const memo = graph.memo("hosts", (key) => watched.objects.get(key)?.spec);
    memo.get(`${namespace}/v`);
    expect(memo.causes(`${namespace}/v`)).toEqual([{ object: `VirtualService/${namespace}/v` }]);
    await remove(object);
    source.close();
  });
});

describe("over HTTP only", () => {
  test("many changes at once are few steps of the graph", async () => {
    const graph = createGraph();
    const source = http(graph);
    const watched = source.watchKind(configMaps, ours);
    await watched.synced;
    const before = graph.version;
    const last = next(watched.objects, `${namespace}/n29`);
    await Promise.all(Array.from({ length: 30 }, (_, i) => client.create(configMaps, configMap(`n${i}`, "1"))));
    await last;
    expect(graph.version - before).toBeLessThan(30);
    await Promise.all(Array.from({ length: 30 }, (_, i) => client.delete(configMaps, configMap(`n${i}`, "").metadata)));
    source.close();
  });

  test("a kind that is not served is off, and on when it comes", async () => {
    const graph = createGraph();
    const source = http(graph);
    const group = `${cluster.id}.example.com`;
    const widgets: KindRef = {
      group,
      version: "v1",
      plural: "widgets",
      kind: "Widget",
      namespaced: true,
    };
    const watched = source.watchKind(widgets);
    await watched.synced;
    expect([watched.served, watched.objects.size]).toEqual([false, 0]);
    await cluster.create({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `widgets.${group}` },
      spec: {
        group,
        scope: "Namespaced",
        names: { plural: "widgets", kind: "Widget" },
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
          },
        ],
      },
    });
    const seen = next(watched.objects, `${namespace}/w`);
    const widget: KubeObject = {
      apiVersion: `${group}/v1`,
      kind: "Widget",
      metadata: { name: "w", namespace },
      size: 3,
    };
    // It takes a moment from being defined to being served.
    await expect
      .poll(() => client.create(widgets, widget).then(() => "made", String), { timeout: 300_000 })
      .toBe("made");
    expect(await seen).toMatchObject({ size: 3 });
    expect(watched.served).toBe(true);
    source.close();
  });

  test("the API goes away and comes back: nothing is lost, nothing is taken away meanwhile", async () => {
    const local = (name: string): KubeObject => {
      const object = configMap(name, "1");
      return { ...object, metadata: { ...object.metadata, namespace: "default" } };
    };
    const own = await startApi({ keep: true });
    const { port } = new URL(own.server.url);
    const ownClient = createKubeClient(await loadKubeconfig({ paths: [own.kubeconfig], env: {} }));
    const graph = createGraph();
    const source = createHttpSource({
      graph,
      client: ownClient,
      log: silentLogger,
      random: Math.random,
      maxBackoffMs: 100,
    });
    await ownClient.create(configMaps, local("stays"));
    const watched = source.watchKind(configMaps, ours);
    await watched.synced;
    const events: string[] = [];
    watched.objects.subscribe((key, now) => events.push(`${key} ${now === undefined ? "gone" : "there"}`));
    await own.server.close();
    expect(watched.objects.keys()).toEqual(["default/stays"]);
    const again = await startApi({ dataDir: own.dir, port: Number(port) });
    const seen = next(watched.objects, "default/new");
    await again.call("POST", "/api/v1/namespaces/default/configmaps", local("new"));
    await seen;
    // The versions of before are gone with the process, so this was a relist; it came in as its difference.
    expect(events).toEqual(["default/new there"]);
    source.close();
    ownClient.close();
    await again.close();
  });

  test("reviews and tokens", async () => {
    const accounts: KindRef = {
      group: "",
      version: "v1",
      plural: "serviceaccounts",
      kind: "ServiceAccount",
      namespaced: true,
    };
    await client.create(accounts, {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "ann", namespace },
    });
    const { token, expires } = await requestToken(client, {
      namespace,
      serviceAccount: "ann",
      audiences: ["istio-ca"],
    });
    expect(expires.getTime()).toBeGreaterThan(Date.now());
    expect(await reviewToken(client, token, ["istio-ca"])).toMatchObject({
      authenticated: true,
      username: `system:serviceaccount:${namespace}:ann`,
      audiences: ["istio-ca"],
    });
    expect(await reviewToken(client, token, ["x"])).toMatchObject({ authenticated: false });
    const question = {
      user: `system:serviceaccount:${namespace}:ann`,
      verb: "get",
      group: "",
      resource: "pods",
      namespace,
    };
    expect(await reviewAccess(client, question)).toBe(false);
    expect(await reviewAccess(client, { ...question, groups: ["system:masters"] })).toBe(true);
  });

  test("errors carry what the API said", async () => {
    const error = await client.get(namespaces, { name: "none" }).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: "not-found" });
    expect(apiStatus(error)).toMatchObject({ code: 404, reason: "NotFound" });
    expect(await client.find(namespaces, { name: "none" })).toBeUndefined();
    await expect(
      client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "default" } }),
    ).rejects.toMatchObject({ code: "already-exists" });
    const [one] = (await client.list(namespaces)).items;
    expect(one?.kind).toBe("Namespace");
  });
});

/** The next thing that happens to the key. */
function next(
  objects: { subscribe(listener: (key: string, now: KubeObject | undefined) => void): () => void },
  key: string,
): Promise<KubeObject | undefined> {
  return new Promise((resolve) => {
    const stop = objects.subscribe((changed, now) => {
      if (changed !== key) return;
      stop();
      resolve(now);
    });
  });
}
