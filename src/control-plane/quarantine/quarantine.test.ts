/** Real Envoys that refuse what EnvoyFilters make: it is withheld, told and tried again, and all else comes through. */
import { afterEach, describe, expect, test } from "vitest";
import { freePort } from "../../../test/free-ports.ts";
import { lacks } from "../../../test/require.ts";
import { readList, readRecord, readText } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { closeAll, open, startEnvoy } from "../../xds/server/testing-envoy.ts";
import { type ControlledApi, startControlledApi } from "../controllers/testing.ts";
import type { Discovery } from "../discovery.ts";
import { allowSecrets, connectProxy, scrape, startPlane } from "../testing.ts";
import { watchedKind } from "../watched-kinds.ts";
import { refusedPatches } from "./testing.ts";

const istio = "networking.istio.io";
const object = (kind: string, name: string, spec: object): KubeObject => ({
  apiVersion: `${istio}/${kind === "EnvoyFilter" ? "v1alpha3" : "v1"}`,
  kind,
  metadata: { name, namespace: "default" },
  spec,
});
const filter = (name: string, ...configPatches: readonly object[]): KubeObject =>
  object("EnvoyFilter", name, { configPatches });
const answering = (text: string): object => ({
  hosts: ["*"],
  gateways: ["gw"],
  http: [{ directResponse: { status: 200, body: { string: text } } }],
});
/** On the listener that others break. */
const stamp = (value: string): object => ({
  applyTo: "HTTP_FILTER",
  match: { context: "GATEWAY" },
  patch: {
    operation: "INSERT_FIRST",
    value: {
      name: "test.stamp",
      typed_config: {
        "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
        default_source_code: {
          inline_string: `function envoy_on_response(handle) handle:headers():add("x-stamp", "${value}") end`,
        },
      },
    },
  },
});

afterEach(closeAll);

describe.skipIf(lacks("envoy"))("what Envoy refuses of an EnvoyFilter", () => {
  interface Mesh {
    readonly world: ControlledApi;
    readonly plane: Discovery;
    readonly url: string;
    startProxy(): Promise<unknown>;
    create(object: KubeObject): Promise<KubeObject>;
    edit(object: KubeObject): Promise<KubeObject>;
  }

  async function start(variant: "GRPC" | "DELTA_GRPC"): Promise<Mesh> {
    const world = await startControlledApi();
    open.push(world.close);
    world.objects(istio, "EnvoyFilter");
    await allowSecrets(world);
    const plane = await startPlane(world);
    open.push(plane.close);
    const port = await freePort();
    const server = { port: { number: port, name: "http", protocol: "HTTP" }, hosts: ["*"] };
    await world.create(object("Gateway", "gw", { selector: { app: "gw" }, servers: [server] }));
    await world.create(object("VirtualService", "web", answering("one")));
    const startProxy = (): Promise<unknown> =>
      startEnvoy(plane.addresses.grpc.port, variant, {
        id: "router~127.0.0.1~gw.default~default.svc.cluster.local",
        cluster: "gw",
        metadata: { NAMESPACE: "default", LABELS: { app: "gw" } },
      });
    const edit = ({ kind, metadata: { name }, spec }: KubeObject): Promise<KubeObject> =>
      world.admin.patch(watchedKind(istio, kind), { name, namespace: "default" }, "merge", { spec });
    return { world, plane, url: `http://127.0.0.1:${port}/`, startProxy, create: world.create, edit };
  }

  const answerOf = async (url: string): Promise<string> => {
    const answer = await fetch(url, { headers: { connection: "close" } }).catch(() => undefined);
    // Filters of the same second are in order of their names, others in order of their age.
    const stamps = answer?.headers.get("x-stamp")?.split(", ").sort().join(", ");
    return answer ? `${await answer.text()} ${stamps ?? "-"}` : "nobody";
  };
  const untilAnswer = (url: string, wanted: string): Promise<void> =>
    expect.poll(() => answerOf(url), { timeout: 60_000, interval: 50 }).toBe(wanted);
  /** `says` is part of what it comes to say in the end. */
  const untilCondition = async ({ world }: Mesh, of: KubeObject, reason: string, says = ""): Promise<string> => {
    const conditionOf = (one: KubeObject | undefined) =>
      readList(readRecord(one?.status).conditions)
        .map(readRecord)
        .find(({ type }) => type === "Programmed");
    let told = "";
    await expect
      .poll(
        () => {
          const found = conditionOf(world.objects(istio, of.kind).get(`default/${of.metadata.name}`));
          told = readText(found?.message);
          const isThere = found?.observedGeneration === of.metadata.generation && told.includes(says);
          return isThere ? found?.reason : undefined;
        },
        { timeout: 60_000, interval: 100 },
      )
      .toBe(reason);
    return told;
  };

  test.each([
    ["DELTA_GRPC", "one by one"],
    ["GRPC", "one by one"],
    ["DELTA_GRPC", "all at once, as it starts"],
    ["GRPC", "all at once, as it starts"],
  ] as const)("keeps nothing else from it: many kinds, %s, %s", async (variant, when) => {
    const mesh = await start(variant);
    if (when === "one by one") await mesh.startProxy();
    if (when === "one by one") await untilAnswer(mesh.url, "one -");
    const bad: [KubeObject, RegExp][] = [];
    // A proxy that has none of them yet is to find each among all: some are enough.
    const meant = Object.entries(refusedPatches).filter((_, i) => when === "one by one" || i % 4 === 0);
    for (const [name, [patch, words]] of meant) bad.push([await mesh.create(filter(name, patch)), words]);
    expect(Object.keys(refusedPatches).length).toBeGreaterThanOrEqual(20);
    await mesh.create(filter("good", stamp("yes")));
    if (when !== "one by one") await mesh.startProxy();
    await mesh.edit(object("VirtualService", "web", answering("two")));
    await untilAnswer(mesh.url, "two yes");
    const told: string[] = [];
    for (const [one, words] of bad) {
      // What is refused is told first, and then that it was left out.
      const message = await untilCondition(mesh, one, "RejectedByProxy", "left out there");
      if (!words.test(message) || !message.includes("left out there")) told.push(`${one.metadata.name}: ${message}`);
    }
    expect(told).toEqual([]);
    await mesh.edit(object("VirtualService", "web", answering("three")));
    await untilAnswer(mesh.url, "three yes");
  });

  test("the last good generation stays, and the next one is tried", async () => {
    const mesh = await start("DELTA_GRPC");
    await mesh.startProxy();
    const good = await mesh.create(filter("stamp", stamp("first")));
    expect(await untilCondition(mesh, good, "Programmed")).toBe("1/1 proxies have acknowledged generation 1");
    await untilAnswer(mesh.url, "one first");
    const [lua] = refusedPatches["lua-syntax"] ?? [];
    const broken = await mesh.edit(filter("stamp", stamp("second"), lua ?? {}));
    expect(await untilCondition(mesh, broken, "RejectedByProxy")).toMatch(
      /^0\/1 proxies have acknowledged generation 2; gw\.default refused LDS .*script load error.*the generation before is kept there$/,
    );
    await mesh.edit(object("VirtualService", "web", answering("two")));
    await untilAnswer(mesh.url, "two first");
    // Another filter on the same listener, while one is withheld.
    await mesh.create(filter("other", { ...stamp("other") }));
    await untilAnswer(mesh.url, "two first, other");
    const mended = await mesh.edit(filter("stamp", stamp("third")));
    expect(await untilCondition(mesh, mended, "Programmed")).toBe("1/1 proxies have acknowledged generation 3");
    await untilAnswer(mesh.url, "two other, third");
  });
});

test("a proxy that refuses everything harms itself alone, and is forgotten when it goes", async () => {
  const world = await startControlledApi();
  open.push(world.close);
  await allowSecrets(world);
  const plane = await startPlane(world);
  open.push(plane.close);
  const listeners: string[] = [];
  await connectProxy(plane, "honest.default", [], ({ typeUrl, resources }) => {
    if (typeUrl.endsWith(".Listener"))
      listeners.push(Buffer.concat(resources.map(({ resource }) => resource?.value ?? new Uint8Array())).toString());
    return undefined;
  });
  const hostile = await connectProxy(plane, "hostile.default", [], () => "no");
  const patch = { ...stamp("yes"), match: { context: "SIDECAR_INBOUND" } };
  await world.create(filter("good", patch));
  const verdict = async (): Promise<unknown> => {
    const { host, port } = plane.addresses.monitoring;
    return (await fetch(`http://${host}:${port}/debug/programmedz?object=EnvoyFilter/default/good`)).json();
  };
  const options = { interval: 100 };
  await expect.poll(verdict, options).toMatchObject({
    affected: 2,
    acknowledged: 1,
    refusing: [{ proxy: "hostile.default", words: expect.stringContaining("left out there") }],
  });
  expect(listeners.at(-1)).toContain("x-stamp");
  const before = listeners.length;
  hostile.close();
  await expect.poll(verdict, options).toMatchObject({ affected: 1, acknowledged: 1, refusing: [] });
  expect(listeners).toHaveLength(before);
});

test("what is withheld from a proxy is nobody's refusal once it has gone, though it refused nothing in the end", async () => {
  const world = await startControlledApi();
  open.push(world.close);
  await allowSecrets(world);
  const plane = await startPlane(world);
  open.push(plane.close);
  let isBare = false;
  const picky = await connectProxy(plane, "picky.default", [], ({ typeUrl, resources }) => {
    if (!typeUrl.endsWith(".Listener")) return undefined;
    const isStamped = resources.some(({ resource }) => Buffer.from(resource?.value ?? []).includes("x-stamp"));
    isBare = !isStamped;
    return isStamped ? "no stamps" : undefined;
  });
  const refused = async (): Promise<string | undefined> =>
    /^fairlead_refused_objects (.*)$/m.exec(await scrape(plane))?.[1];
  await world.create(filter("stamp", { ...stamp("yes"), match: { context: "SIDECAR_INBOUND" } }));
  await expect.poll(refused).toBe("1");
  await expect.poll(() => isBare).toBe(true);
  // By then nobody looks at it any longer.
  await new Promise((resolve) => setTimeout(resolve, 1000));
  picky.close();
  await expect.poll(refused).toBe("0");
});
