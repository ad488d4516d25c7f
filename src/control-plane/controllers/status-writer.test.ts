import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kindRef } from "../../kube/index.ts";
import { readList, readRecord, silentLogger } from "../../lib/index.ts";
import { httpRoute, type KubeObject } from "../../model/index.ts";
import { createStages } from "../stages.ts";
import { watchedKind } from "../watched-kinds.ts";
import { runGatewayClasses } from "./gateway-classes.ts";
import { runStatusWriter } from "./status-writer.ts";
import { type ControlledApi, startControlledApi } from "./testing.ts";

const api = "gateway.networking.k8s.io";
const kinds = [
  [api, "GatewayClass"],
  [api, "Gateway"],
  [api, "HTTPRoute"],
  ["networking.k8s.io", "Ingress"],
] as const;
const object = (
  apiVersion: string,
  kind: string,
  name: string,
  spec: Readonly<Record<string, unknown>>,
): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, namespace: "default" },
  spec,
});
const edge = object(`${api}/v1`, "Gateway", "edge", {
  gatewayClassName: "istio",
  listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
});
const route = (name: string, parentRefs: readonly unknown[]): KubeObject =>
  object(`${api}/v1`, "HTTPRoute", name, { parentRefs, rules: [{ backendRefs: [{ name: "web", port: 80 }] }] });

const conditions = (of: unknown): Readonly<Record<string, Readonly<Record<string, unknown>>>> =>
  Object.fromEntries(
    readList(readRecord(of).conditions)
      .map(readRecord)
      .map((condition) => [String(condition.type), condition]),
  );
const parents = (of: KubeObject | undefined) => readList(readRecord(of?.status).parents).map(readRecord);

describe("statuses", () => {
  let world: ControlledApi;
  const writes: string[] = [];
  const clock = { now: new Date("2026-01-01T00:00:00Z") };
  const until = (kind: string, key: string, holds: (object: KubeObject | undefined) => boolean): Promise<KubeObject> =>
    world.until(kind === "Ingress" ? "networking.k8s.io" : api, kind, key, holds);

  beforeAll(async () => {
    world = await startControlledApi();
    const { graph, client, objects } = world;
    const stages = createStages({
      graph,
      objects,
      domain: "cluster.local",
      cluster: "Kubernetes",
      configMap: "istio-system/istio",
    });
    await world.synced();
    const shared = { client, log: silentLogger, random: () => 0.5, signal: world.stop.signal };
    runGatewayClasses({ ...shared, classes: objects(api, "GatewayClass") });
    runStatusWriter({
      ...shared,
      statuses: stages.statuses,
      kinds: kinds.map(([group, kind]) => ({ ref: watchedKind(group, kind), objects: objects(group, kind) })),
      now: () => clock.now,
      onWrite: (key) => writes.push(key),
    });
  });
  afterAll(() => world.close());

  test("Istio's classes are there and accepted, and come back when deleted", async () => {
    const isAccepted = (now: KubeObject | undefined): boolean => conditions(now?.status).Accepted?.status === "True";
    const made = await until("GatewayClass", "istio", isAccepted);
    expect(made.spec).toMatchObject({ controllerName: "istio.io/gateway-controller" });
    await until("GatewayClass", "istio-remote", isAccepted);
    await world.admin.delete(watchedKind(api, "GatewayClass"), { name: "istio" });
    await until("GatewayClass", "istio", (now) => now !== undefined && now.metadata.uid !== made.metadata.uid);
    await until("GatewayClass", "istio", isAccepted);
  });

  test("a Gateway and its route; each written once, and not again while nothing changes", async () => {
    await world.create(edge);
    await world.create(route("web", [{ name: "edge" }]));
    const attached = (now: KubeObject | undefined): unknown =>
      readRecord(readList(readRecord(now?.status).listeners)[0]);
    const gateway = await until("Gateway", "default/edge", (now) => readRecord(attached(now)).attachedRoutes === 1);
    expect(conditions(gateway.status)).toMatchObject({
      Accepted: { status: "True", reason: "Accepted", observedGeneration: 1 },
      Programmed: { status: "False", reason: "AddressNotUsable" },
    });
    const accepted = await until("HTTPRoute", "default/web", (now) => parents(now).length === 1);
    expect(conditions(parents(accepted)[0])).toMatchObject({
      Accepted: { status: "True" },
      ResolvedRefs: { status: "False", reason: "BackendNotFound" },
    });
    const before = writes.filter((key) => key === "HTTPRoute/default/web").length;
    await world.create(route("other", [{ name: "edge" }]));
    await until("Gateway", "default/edge", (now) => readRecord(attached(now)).attachedRoutes === 2);
    expect(writes.filter((key) => key === "HTTPRoute/default/web")).toHaveLength(before);
  });

  test("a verdict that changes gets a new time, one that stays keeps its own", async () => {
    clock.now = new Date("2026-02-02T00:00:00Z");
    await world.admin.create(
      watchedKind("", "Service"),
      object("v1", "Service", "web", { ports: [{ name: "http", port: 80 }] }),
    );
    const isResolved = (now: KubeObject | undefined): boolean =>
      conditions(parents(now)[0]).ResolvedRefs?.status === "True";
    const { Accepted, ResolvedRefs } = conditions(parents(await until("HTTPRoute", "default/web", isResolved))[0]);
    expect(ResolvedRefs?.lastTransitionTime).toBe("2026-02-02T00:00:00Z");
    expect(Accepted?.lastTransitionTime).toBe("2026-01-01T00:00:00Z");
  });

  test("what others say of a route stays, and what somebody says in our name is put right", async () => {
    const theirs = {
      controllerName: "example.com/other",
      parentRef: { group: api, kind: "Gateway", name: "theirs" },
      conditions: [
        {
          type: "Accepted",
          status: "True",
          reason: "Accepted",
          message: "",
          observedGeneration: 1,
          lastTransitionTime: "2025-01-01T00:00:00Z",
        },
      ],
    };
    await world.admin.patchStatus(kindRef(httpRoute), { name: "web", namespace: "default" }, { parents: [theirs] });
    const healed = await until("HTTPRoute", "default/web", (now) => parents(now).length === 2);
    expect(parents(healed).map(({ controllerName }) => controllerName)).toEqual([
      "istio.io/gateway-controller",
      "example.com/other",
    ]);
    expect(parents(healed)[1]).toEqual(theirs);
  });

  test("an Ingress says where its gateway is reached, and no longer once it is not", async () => {
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "istio-system" } };
    // The API may have made it itself.
    await world.create(namespace).catch(() => {});
    const service = (externalIPs: readonly string[]): KubeObject => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "istio-ingressgateway", namespace: "istio-system" },
      spec: { ports: [{ name: "http", port: 80 }], externalIPs },
    });
    await world.create(service(["192.0.2.7"]));
    await world.create({
      ...object("networking.k8s.io/v1", "Ingress", "front", {
        rules: [
          {
            http: {
              paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "web", port: { number: 80 } } } }],
            },
          },
        ],
      }),
      metadata: { name: "front", namespace: "default", annotations: { "kubernetes.io/ingress.class": "istio" } },
    });
    const balancer = (now: KubeObject | undefined) => readRecord(readRecord(now?.status).loadBalancer).ingress;
    const told = await until("Ingress", "default/front", (now) => balancer(now) !== undefined);
    expect(balancer(told)).toEqual([{ ip: "192.0.2.7" }]);
    await world.admin.patch(
      watchedKind("", "Service"),
      { name: "istio-ingressgateway", namespace: "istio-system" },
      "merge",
      { spec: { externalIPs: null } },
    );
    await until("Ingress", "default/front", (now) => balancer(now) === undefined);
  });
});
