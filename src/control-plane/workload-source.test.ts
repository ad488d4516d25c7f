import { fromBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createGraph } from "../collections/index.ts";
import { WorkloadSchema } from "../gen/fairlead/workload_pb.js";
import { createMemorySource, type MemorySource } from "../kube/index.ts";
import { bytesOf, createResourceSet, encodedResource, type KubeObject, type Resource, types } from "../model/index.ts";
import type { ProxyNode, ProxySession, ResourceSource } from "../xds/index.ts";
import { createStages } from "./stages.ts";
import { watchObjects } from "./watched-kinds.ts";
import { createWorkloadSource } from "./workload-source.ts";

const node: ProxyNode = {
  id: "sidecar~10.0.0.1~a.default~default.svc.cluster.local",
  cluster: "",
  metadata: {},
  locality: { region: "", zone: "", subZone: "" },
  extensions: new Set(),
  userAgent: "",
};

const others: Resource = encodedResource("c", new Uint8Array(1));
const inner: ResourceSource = {
  connect: () => ({
    ready: undefined,
    all: () => createResourceSet([new Map([["c", others]])]),
    get: () => others,
    forget() {},
    close: () => {},
  }),
};

let api: MemorySource;
let source: ReturnType<typeof createWorkloadSource>;

beforeEach(() => {
  const graph = createGraph();
  api = createMemorySource({ graph, objects: [] });
  const { registry } = createStages({
    graph,
    objects: watchObjects(api).objects,
    domain: "cluster.local",
    cluster: "Kubernetes",
    configMap: "istio-system/istio",
  });
  source = createWorkloadSource(inner, { graph, registry, debounceMs: 1, debounceMaxMs: 5 });
});
afterEach(() => source.close());

const podOf = (name: string, address: string, labels: Readonly<Record<string, string>> = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "shop", labels },
  spec: { serviceAccountName: `${name}-account`, containers: [] },
  status: { phase: "Running", podIP: address, conditions: [{ type: "Ready", status: "True" }] },
});

/** A proxy that counts how often it is told of changes. */
function connect(): { readonly session: ProxySession; readonly told: () => number; next(): Promise<void> } {
  let told = 0;
  let wake = (): void => {};
  const session = source.connect(node, undefined, (changed) => {
    expect([...(changed?.keys() ?? [])]).toEqual([types.workload]);
    told++;
    wake();
  });
  const next = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
    });
  return { session, told: () => told, next };
}

function at(session: ProxySession, address: string) {
  const resource = session.get(types.workload, address);
  if (!resource) return undefined;
  const { $typeName: _, ...workload } = fromBinary(WorkloadSchema, bytesOf(resource));
  return workload;
}

test("an address is its pod's workload; other types are the other source's", () => {
  api.apply([podOf("web-1", "10.0.0.7", { app: "web", version: "v2" })]);
  const { session } = connect();
  expect(at(session, "10.0.0.7")).toEqual({
    name: "web-1",
    namespace: "shop",
    identity: "spiffe://cluster.local/ns/shop/sa/web-1-account",
    cluster: "Kubernetes",
    canonicalService: "web",
    canonicalRevision: "v2",
    app: "web",
    version: "v2",
  });
  expect(at(session, "10.0.0.8")).toBeUndefined();
  expect(session.get(types.cluster, "c")).toBe(others);
  expect(session.all(types.cluster).get("c")).toBe(others);
});

test("only who asked for an address is told when it changes", async () => {
  const [peer, stranger] = [connect(), connect()];
  expect(at(peer.session, "10.0.0.7")).toBeUndefined();
  expect(at(stranger.session, "10.0.0.8")).toBeUndefined();
  const told = peer.next();
  api.apply([podOf("web", "10.0.0.7")]);
  await told;
  expect(at(peer.session, "10.0.0.7")?.name).toBe("web");
  const again = peer.next();
  api.remove(podOf("web", "10.0.0.7"));
  await again;
  expect(at(peer.session, "10.0.0.7")).toBeUndefined();
  expect([peer.told(), stranger.told()]).toEqual([2, 0]);
});

test("who no longer asks is told no more, nor who has gone", async () => {
  const [moved, gone, stays] = [connect(), connect(), connect()];
  for (const { session } of [moved, gone, stays]) at(session, "10.0.0.7");
  gone.session.close();
  let told = stays.next();
  api.apply([podOf("web", "10.0.0.7")]);
  await told;
  // Of the two that were told, one asks again.
  at(stays.session, "10.0.0.7");
  told = stays.next();
  api.remove(podOf("web", "10.0.0.7"));
  await told;
  expect([moved.told(), gone.told(), stays.told()]).toEqual([1, 0, 2]);
});

test("who gives an address up is told no more, and may ask for others instead", async () => {
  const [gaveUp, gaveUpAll, stays] = [connect(), connect(), connect()];
  for (const { session } of [gaveUp, gaveUpAll, stays]) at(session, "10.0.0.7");
  gaveUp.session.forget(types.workload, "10.0.0.7");
  gaveUpAll.session.forget(types.workload);
  const told = stays.next();
  api.apply([podOf("web", "10.0.0.7")]);
  await told;
  expect([gaveUp.told(), gaveUpAll.told(), stays.told()]).toEqual([0, 0, 1]);
});

test("an address that two workloads have names nobody; one of them that has ended does not count", () => {
  api.apply([podOf("a", "10.0.0.1"), podOf("b", "10.0.0.1")]);
  const { session } = connect();
  expect(at(session, "10.0.0.1")).toBeUndefined();
  api.apply([{ ...podOf("a", "10.0.0.1"), status: { phase: "Succeeded", podIP: "10.0.0.1" } }]);
  expect(at(session, "10.0.0.1")?.name).toBe("b");
});

test("a WorkloadEntry has its address too", () => {
  const meta = { name: "vm-1", namespace: "shop" };
  const spec = { address: "192.168.0.5", serviceAccount: "vm", labels: { app: "db" } };
  api.apply([{ apiVersion: "networking.istio.io/v1", kind: "WorkloadEntry", metadata: meta, spec }]);
  expect(at(connect().session, "192.168.0.5")).toMatchObject({
    name: "vm-1",
    canonicalService: "db",
    identity: "spiffe://cluster.local/ns/shop/sa/vm",
  });
});

test("names without end, and no end of names, are not kept", () => {
  api.apply([podOf("web", "10.0.0.7")]);
  const { session } = connect();
  expect(at(session, "x".repeat(1000))).toBeUndefined();
  for (let i = 0; i < 16_384; i++) session.get(types.workload, `n${i}`);
  expect(at(session, "10.0.0.7")).toBeUndefined();
});
