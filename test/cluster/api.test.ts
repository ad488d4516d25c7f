/** What controllers and tools rely on in an API server: deletion, ownership, scale, patches, namespaces, watches. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kubeKinds } from "../../src/kube/index.ts";
import { readList, readRecord } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { type Cluster, kindFor, openCluster, pathOf } from "./cluster.ts";

let cluster: Cluster;
let namespace = "";
beforeAll(async () => {
  cluster = await openCluster();
  namespace = await cluster.namespace();
});
afterAll(() => cluster.close());

const configMap = (name: string, metadata: Partial<KubeObject["metadata"]> = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace, ...metadata },
  data: { a: "1" },
});
const owned = (name: string, owner: KubeObject, blocks = true): KubeObject =>
  configMap(name, {
    ownerReferences: [
      {
        apiVersion: "v1",
        kind: "ConfigMap",
        name: owner.metadata.name,
        uid: owner.metadata.uid ?? "",
        blockOwnerDeletion: blocks,
      },
    ],
  } as Partial<KubeObject["metadata"]>);
const soon = { timeout: 300_000 };

describe("deletion", () => {
  test("in the foreground: dependents first, then the owner, which is marked meanwhile", async () => {
    const owner = await cluster.create(configMap("foreground"));
    const dependent = await cluster.create({
      ...owned("foreground-dependent", owner),
      metadata: { ...owned("foreground-dependent", owner).metadata, finalizers: ["example.com/hold"] },
    });
    await cluster.admin.delete(kubeKinds.configMaps, owner.metadata, { propagationPolicy: "Foreground" });
    const marked = await cluster.find(owner);
    expect(marked?.metadata.finalizers).toEqual(["foregroundDeletion"]);
    expect(marked?.metadata.deletionTimestamp).toBeDefined();
    await expect.poll(async () => (await cluster.find(dependent))?.metadata.deletionTimestamp, soon).toBeDefined();
    expect(await cluster.find(owner)).toBeDefined();
    await cluster.admin.patch(kubeKinds.configMaps, dependent.metadata, "merge", { metadata: { finalizers: null } });
    await expect.poll(() => cluster.find(owner), soon).toBeUndefined();
    expect(await cluster.find(dependent)).toBeUndefined();
  });

  test("in the background: the owner at once, its dependents after it", async () => {
    const owner = await cluster.create(configMap("background"));
    const dependent = await cluster.create(owned("background-dependent", owner));
    await cluster.admin.delete(kubeKinds.configMaps, owner.metadata, { propagationPolicy: "Background" });
    expect(await cluster.find(owner)).toBeUndefined();
    await expect.poll(() => cluster.find(dependent), soon).toBeUndefined();
  });

  test("leaving orphans: dependents stay, and no longer name the owner", async () => {
    const owner = await cluster.create(configMap("orphan"));
    const dependent = await cluster.create(owned("orphan-dependent", owner));
    await cluster.admin.delete(kubeKinds.configMaps, owner.metadata, { propagationPolicy: "Orphan" });
    await expect.poll(() => cluster.find(owner), soon).toBeUndefined();
    await expect.poll(async () => (await cluster.find(dependent))?.metadata.ownerReferences ?? [], soon).toEqual([]);
  });

  test("waits for finalizers, and refuses another identity or version", async () => {
    const held = await cluster.create(configMap("held", { finalizers: ["example.com/hold"] }));
    const stale = { preconditions: { uid: "11111111-1111-1111-1111-111111111111" } };
    expect(await cluster.call("DELETE", pathOf(held), stale)).toMatchObject({
      code: 409,
      body: { reason: "Conflict" },
    });
    await cluster.admin.delete(kubeKinds.configMaps, held.metadata);
    expect((await cluster.find(held))?.metadata.deletionTimestamp).toBeDefined();
    await cluster.admin.patch(kubeKinds.configMaps, held.metadata, "json", [
      { op: "remove", path: "/metadata/finalizers" },
    ]);
    expect(await cluster.find(held)).toBeUndefined();
  });

  test("of a collection by label takes those alone", async () => {
    await cluster.create(configMap("go-1", { labels: { go: "yes" } }));
    await cluster.create(configMap("go-2", { labels: { go: "yes" } }));
    const stays = await cluster.create(configMap("stays", { labels: { go: "no" } }));
    await cluster.call("DELETE", `/api/v1/namespaces/${namespace}/configmaps?labelSelector=go%3Dyes`);
    const { items } = await cluster.admin.list(kubeKinds.configMaps, { namespace, labelSelector: "go" });
    expect(items.map(({ metadata }) => metadata.name)).toEqual([stays.metadata.name]);
  });
});

describe("namespaces", () => {
  test.each(["default", "kube-system", "kube-public"])("%s cannot be deleted", async (name) => {
    expect(await cluster.call("DELETE", `/api/v1/namespaces/${name}`)).toMatchObject({
      code: 403,
      body: { reason: "Forbidden", message: `namespaces "${name}" is forbidden: this namespace may not be deleted` },
    });
  });

  test("carry their name as a label, take nothing while they end, and take all with them", async () => {
    const name = await cluster.namespace();
    const found = await cluster.admin.get(kubeKinds.namespaces, { name });
    expect(found.metadata.labels?.["kubernetes.io/metadata.name"]).toBe(name);
    await cluster.create(configMap("inside", { namespace: name, finalizers: ["example.com/hold"] }));
    await cluster.admin.delete(kubeKinds.namespaces, { name });
    expect(readRecord((await cluster.admin.get(kubeKinds.namespaces, { name })).status).phase).toBe("Terminating");
    expect(
      await cluster.call("POST", `/api/v1/namespaces/${name}/configmaps`, configMap("late", { namespace: name })),
    ).toMatchObject({ code: 403, body: { reason: "Forbidden" } });
    await expect
      .poll(
        async () => (await cluster.find(configMap("inside", { namespace: name })))?.metadata.deletionTimestamp,
        soon,
      )
      .toBeDefined();
    await cluster.admin.patch(kubeKinds.configMaps, { name: "inside", namespace: name }, "merge", {
      metadata: { finalizers: null },
    });
    await expect.poll(() => cluster.admin.find(kubeKinds.namespaces, { name }), soon).toBeUndefined();
  });

  test("have an account of their own", async () => {
    const name = await cluster.namespace();
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace: name } };
    await expect.poll(() => cluster.find(account), soon).toBeDefined();
  });
});

describe("scale", () => {
  const scaled = (): KubeObject => ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `fleets.${cluster.id}.example.com` },
    spec: {
      group: `${cluster.id}.example.com`,
      scope: "Namespaced",
      names: { plural: "fleets", singular: "fleet", kind: "Fleet", listKind: "FleetList" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          subresources: {
            status: {},
            scale: {
              specReplicasPath: ".spec.size",
              statusReplicasPath: ".status.size",
              labelSelectorPath: ".status.selector",
            },
          },
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: {
                spec: { type: "object", properties: { size: { type: "integer" } } },
                status: { type: "object", properties: { size: { type: "integer" }, selector: { type: "string" } } },
              },
            },
          },
        },
      ],
    },
  });

  test("of a custom kind follows the paths that its definition names", async () => {
    await cluster.create(scaled());
    const path = `/apis/${cluster.id}.example.com/v1/namespaces/${namespace}/fleets`;
    const fleet = {
      apiVersion: `${cluster.id}.example.com/v1`,
      kind: "Fleet",
      metadata: { name: "f" },
      spec: { size: 2 },
    };
    await expect.poll(async () => (await cluster.call("POST", path, fleet)).code, soon).toBe(200);
    const scale = await cluster.call("GET", `${path}/f/scale`);
    expect(scale.body).toMatchObject({
      kind: "Scale",
      apiVersion: "autoscaling/v1",
      spec: { replicas: 2 },
      status: { replicas: 0 },
    });
    expect(readRecord(scale.body.status)).not.toHaveProperty("selector");
    const status = { size: 3, selector: "app=f" };
    const current = await cluster.call("GET", `${path}/f`);
    await cluster.call("PUT", `${path}/f/status`, { ...current.body, status });
    await cluster.call("PUT", `${path}/f/scale`, {
      ...scale.body,
      metadata: { name: "f", namespace },
      spec: { replicas: 5 },
    });
    expect(readRecord((await cluster.call("GET", `${path}/f`)).body.spec).size).toBe(5);
    expect((await cluster.call("GET", `${path}/f/scale`)).body).toMatchObject({
      spec: { replicas: 5 },
      status: { replicas: 3, selector: "app=f" },
    });
    const bad = { ...scale.body, metadata: { name: "f", namespace }, spec: { replicas: -1 } };
    expect((await cluster.call("PUT", `${path}/f/scale`, bad)).code).toBe(422);
    expect((await cluster.call("GET", `${path}/none/scale`)).code).toBe(404);
  });
});

describe("strategic merge", () => {
  const container = (name: string, more: object = {}): object => ({ name, image: `${name}:1`, ...more });
  const deployment = (name: string, containers: readonly object[]): KubeObject => ({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers } },
    },
  });
  const patched = async (name: string, before: readonly object[], spec: object): Promise<readonly string[]> => {
    const made = await cluster.create(deployment(name, before));
    const after = await cluster.admin.patch(kubeKinds.deployments, made.metadata, "strategic", {
      spec: { template: { spec } },
    });
    const template = readRecord(readRecord(after.spec).template);
    return readList(readRecord(template.spec).containers).map((item) => String(readRecord(item).name));
  };

  test.each([
    ["new-one", ["a", "b"], { containers: [container("c")] }, ["c", "a", "b"]],
    ["two-new", ["a", "b"], { containers: [container("c"), container("d")] }, ["c", "d", "a", "b"]],
    ["last-changed", ["a", "b", "c"], { containers: [container("c")] }, ["a", "b", "c"]],
    ["changed-and-new", ["a", "b"], { containers: [container("b"), container("c")] }, ["a", "b", "c"]],
    ["new-and-changed", ["a", "b"], { containers: [container("c"), container("b")] }, ["c", "a", "b"]],
    ["swapped", ["a", "b", "c"], { containers: [container("c"), container("a")] }, ["b", "c", "a"]],
    [
      "ordered",
      ["a", "b", "c"],
      { $setElementOrder_containers: [{ name: "c" }, { name: "a" }, { name: "b" }], containers: [container("b")] },
      ["c", "a", "b"],
    ],
    [
      "ordered-new",
      ["a", "b"],
      { $setElementOrder_containers: [{ name: "a" }, { name: "n" }, { name: "b" }], containers: [container("n")] },
      ["a", "n", "b"],
    ],
    ["deleted", ["a", "b", "c"], { containers: [{ name: "b", $patch: "delete" }] }, ["a", "c"]],
    ["replaced", ["a", "b"], { containers: [{ $patch: "replace" }, container("z")] }, ["z"]],
  ])("order of a list: %s", async (name, before, spec, expected) => {
    const named = Object.fromEntries(
      Object.entries(spec).map(([key, value]) => [key.replace("Order_", "Order/"), value]),
    );
    expect(
      await patched(
        `order-${name}`,
        before.map((one) => container(one)),
        named,
      ),
    ).toEqual(expected);
  });

  test("texts of a list are merged as a set", async () => {
    const made = await cluster.create(configMap("set", { finalizers: ["example.com/a", "example.com/b"] }));
    const after = await cluster.admin.patch(kubeKinds.configMaps, made.metadata, "strategic", {
      metadata: { finalizers: ["example.com/c", "example.com/a"] },
    });
    expect(after.metadata.finalizers).toEqual(["example.com/c", "example.com/a", "example.com/b"]);
    const less = await cluster.admin.patch(kubeKinds.configMaps, made.metadata, "strategic", {
      metadata: { "$deleteFromPrimitiveList/finalizers": ["example.com/a", "example.com/b", "example.com/c"] },
    });
    expect(less.metadata.finalizers ?? []).toEqual([]);
  });
});

describe("writes", () => {
  test("of a version that has passed are refused", async () => {
    const made = await cluster.create(configMap("versioned"));
    await cluster.admin.update(kubeKinds.configMaps, { ...made, data: { a: "2" } });
    expect(await cluster.call("PUT", pathOf(made), { ...made, data: { a: "3" } })).toMatchObject({
      code: 409,
      body: {
        reason: "Conflict",
        message:
          'Operation cannot be fulfilled on configmaps "versioned": the object has been modified; please apply your changes to the latest version and try again',
      },
    });
  });

  test("that change nothing leave the version", async () => {
    const made = await cluster.create(configMap("same"));
    const again = await cluster.admin.patch(kubeKinds.configMaps, made.metadata, "merge", { data: { a: "1" } });
    expect(again.metadata.resourceVersion).toBe(made.metadata.resourceVersion);
  });

  test("count generations of the spec, not of labels or status", async () => {
    const made = await cluster.create({
      apiVersion: "networking.istio.io/v1",
      kind: "DestinationRule",
      metadata: { name: "counted", namespace },
      spec: { host: "a" },
    });
    const generationAfter = async (patch: object, subresource?: string): Promise<number | undefined> => {
      const next = await cluster.admin.patch(kindFor(made), made.metadata, "merge", patch, { subresource });
      return next.metadata.generation;
    };
    expect(made.metadata.generation).toBe(1);
    expect(await generationAfter({ metadata: { labels: { a: "b" } } })).toBe(1);
    expect(await generationAfter({ spec: { host: "b" } })).toBe(2);
    expect(await generationAfter({ status: { conditions: [] } }, "status")).toBe(2);
  });
});

describe("lists and watches", () => {
  test("pages hold one version, and a watch from there sees what comes", async () => {
    const own = await cluster.namespace();
    for (const name of ["p1", "p2", "p3"]) await cluster.create(configMap(name, { namespace: own, labels: { p: "" } }));
    const first = await cluster.admin.list(kubeKinds.configMaps, { namespace: own, labelSelector: "p", limit: 2 });
    expect(first.items.map(({ metadata }) => metadata.name)).toEqual(["p1", "p2"]);
    await cluster.create(configMap("p4", { namespace: own, labels: { p: "" } }));
    const rest = await cluster.admin.list(kubeKinds.configMaps, {
      namespace: own,
      labelSelector: "p",
      limit: 2,
      continue: first.continue,
    });
    expect(rest.items.map(({ metadata }) => metadata.name)).toEqual(["p3"]);
    const stop = new AbortController();
    const seen: string[] = [];
    const events = cluster.admin.watch(kubeKinds.configMaps, {
      namespace: own,
      labelSelector: "p",
      resourceVersion: rest.resourceVersion,
      signal: stop.signal,
    });
    for await (const event of events) {
      if (event.type === "ADDED") seen.push(String(readRecord(readRecord(event.object).metadata).name));
      if (seen.length > 0) break;
    }
    stop.abort();
    expect(seen).toEqual(["p4"]);
  });
});
