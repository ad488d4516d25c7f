import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readList, readRecord } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { type ControlledApi, startControlledApi } from "../controllers/testing.ts";
import type { Discovery } from "../discovery.ts";
import { type Answers, allowSecrets, connectProxy, type ScriptedProxy, startPlane } from "../testing.ts";
import { watchedKind } from "../watched-kinds.ts";

const istio = "networking.istio.io";
const object = (apiVersion: string, kind: string, name: string, spec: object): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, namespace: "default" },
  spec,
});
const route = (name: string, timeout: string): KubeObject =>
  object(`${istio}/v1`, "VirtualService", name, {
    hosts: [name],
    http: [{ timeout, route: [{ destination: { host: name } }] }],
  });
const conditionOf = (of: KubeObject | undefined) =>
  readList(readRecord(of?.status).conditions)
    .map(readRecord)
    .find(({ type }) => type === "Programmed");

/** Of one type only: what is new of it must not be answered. */
const silentOn =
  (type: string): Answers =>
  ({ typeUrl }) =>
    typeUrl.endsWith(type) ? "silence" : undefined;
const silentOnRoutes = silentOn("RouteConfiguration");

describe("which proxies have an object", () => {
  let world: ControlledApi;
  let plane: Discovery;
  const proxies: ScriptedProxy[] = [];
  const connect = async (pod: string, routes = ["80"], answers?: Answers): Promise<ScriptedProxy> => {
    const proxy = await connectProxy(plane, pod, routes, answers);
    proxies.push(proxy);
    return proxy;
  };
  const kind = watchedKind(istio, "VirtualService");
  const named = (name: string) => ({ name, namespace: "default" });
  const condition = async (of: KubeObject, status: string) => {
    const { generation, namespace, name } = of.metadata;
    const holds = (one: KubeObject | undefined): boolean => {
      const own = conditionOf(one);
      return own?.status === status && own.observedGeneration === generation;
    };
    const group = of.apiVersion.split("/")[0] ?? "";
    return conditionOf(await world.until(group, of.kind, `${namespace}/${name}`, holds));
  };
  const edit = (name: string, timeout: string): Promise<KubeObject> =>
    world.admin.patch(kind, named(name), "merge", { spec: route(name, timeout).spec });
  const asked = async (id: string): Promise<Readonly<Record<string, unknown>>> => {
    const { host, port } = plane.addresses.monitoring;
    return readRecord(await (await fetch(`http://${host}:${port}/debug/programmedz?object=${id}`)).json());
  };

  beforeAll(async () => {
    world = await startControlledApi();
    world.objects(istio, "VirtualService");
    for (const name of ["web", "other"])
      await world.create(object("v1", "Service", name, { ports: [{ name: "http", port: 80 }] }));
    await allowSecrets(world);
    plane = await startPlane(world);
    await connect("a.default");
    await connect("b.default");
  });
  afterAll(async () => {
    for (const proxy of proxies) proxy.close();
    await plane.close();
    await world.close();
  });

  test("is a condition with counts, of each generation anew", async () => {
    expect(await condition(await world.create(route("web", "1s")), "True")).toMatchObject({
      reason: "Programmed",
      message: "2/2 proxies have acknowledged generation 1",
      observedGeneration: 1,
    });
    expect(await condition(await edit("web", "2s"), "True")).toMatchObject({
      message: "2/2 proxies have acknowledged generation 2",
      observedGeneration: 2,
    });
  });

  test("a condition that is written sends nothing", async () => {
    const before = proxies.map(({ responses }) => [...responses]);
    const object = world.objects(istio, "VirtualService").get("default/web");
    // The control plane has seen it once the next change has come to the proxies.
    await world.admin.patch(
      kind,
      named("web"),
      "merge",
      { status: { validationMessages: [] } },
      { subresource: "status" },
    );
    await world.until(
      istio,
      "VirtualService",
      "default/web",
      (one) => one?.metadata.resourceVersion !== object?.metadata.resourceVersion,
    );
    await condition(await edit("web", "3s"), "True");
    const routes = (all: readonly (readonly [string, number])[]) => new Map(all).get("RouteConfiguration") ?? 0;
    expect(proxies.map(({ responses }, i) => routes([...responses]) - routes(before[i] ?? []))).toEqual([1, 1]);
  });

  test("one that has not answered is awaited, and named", async () => {
    const [a] = proxies;
    await a?.answer(silentOnRoutes);
    const edited = await edit("web", "4s");
    await expect
      .poll(() => asked("VirtualService/default/web"))
      .toMatchObject({ generation: 4, isDone: false, affected: 2, acknowledged: 1, waiting: ["a.default"] });
    await a?.answer(() => undefined);
    expect(await condition(edited, "True")).toMatchObject({ message: "2/2 proxies have acknowledged generation 4" });
  });

  test("one that refuses it is named with its words, until it takes the next generation", async () => {
    const [, b] = proxies;
    await b?.answer(({ typeUrl }) => (typeUrl.endsWith("RouteConfiguration") ? "route 80: no such\nthing" : undefined));
    expect(await condition(await edit("web", "5s"), "False")).toMatchObject({
      reason: "RejectedByProxy",
      message: "1/2 proxies have acknowledged generation 5; b.default refused RDS 80: route 80: no such\\u000athing",
    });
    await b?.answer(() => undefined);
    expect(await condition(await edit("web", "6s"), "True")).toMatchObject({
      message: "2/2 proxies have acknowledged generation 6",
    });
  });

  test("who still has what the generation before made is not done", async () => {
    await condition(await world.create(route("other", "1s")), "True");
    const [a] = proxies;
    await a?.answer(silentOnRoutes);
    // It leaves the host that it was for.
    const moved = await world.admin.patch(kind, named("other"), "merge", {
      spec: { hosts: ["elsewhere.example.com"] },
    });
    await expect
      .poll(() => asked("VirtualService/default/other"))
      .toMatchObject({ generation: 2, isDone: false, waiting: ["a.default"] });
    await a?.answer(() => undefined);
    await condition(moved, "True");
  });

  test("who has what an earlier generation made is not done where the next one made what there was before it", async () => {
    const security = "security.istio.io";
    world.objects(security, "PeerAuthentication");
    const policy = (mode: string) => object(`${security}/v1`, "PeerAuthentication", "mtls", { mtls: { mode } });
    const edit = (spec: object) =>
      world.admin.patch(watchedKind(security, "PeerAuthentication"), named("mtls"), "merge", { spec });
    await condition(await world.create(policy("STRICT")), "True");
    const [a] = proxies;
    await a?.answer(silentOn("Listener"));
    // The same bytes as without any.
    await edit(policy("PERMISSIVE").spec as object);
    await expect
      .poll(() => asked("PeerAuthentication/default/mtls"))
      .toMatchObject({ generation: 2, isDone: false, waiting: ["a.default"] });
    const nobody = await edit({ selector: { matchLabels: { app: "nobody" } } });
    await expect
      .poll(() => asked("PeerAuthentication/default/mtls"))
      .toMatchObject({ generation: 3, isDone: false, waiting: ["a.default"] });
    await a?.answer(() => undefined);
    await condition(nobody, "True");
  });

  test("what no proxy is sent anything for is said to be so", async () => {
    const policy = object("security.istio.io/v1", "AuthorizationPolicy", "nobody", {
      selector: { matchLabels: { app: "nobody" } },
    });
    world.objects("security.istio.io", "AuthorizationPolicy");
    expect(await condition(await world.create(policy), "True")).toMatchObject({
      reason: "NoProxyAffected",
    });
    expect(await asked("AuthorizationPolicy/default/nobody")).toMatchObject({ affected: 0, isDone: true });
    expect(await asked("VirtualService/default/none").catch(() => ({}))).toEqual({});
  });
});
