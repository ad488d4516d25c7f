/** Objects are edited without end; what is remembered of earlier generations must be what some proxy still has, whoever asks. */
import { afterEach, expect, test } from "vitest";
import { hostOf, networking, scenario } from "../../bench/scale/scenario.ts";
import { type Answers, connectProxy, type ScriptedProxy } from "../../src/control-plane/testing.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { createWorld, type World } from "../incremental/world.ts";

const size = { services: 6, endpoints: 1, namespaces: 2, routed: 0 };
const edits = 400;
const least = 20;
/** After a look that found so little that none follows by itself, as much again may come. It is more than a silent proxy may have. */
const most = 2 * least;
/** Of one name: sixteen responses that are not answered, and what the proxy has. */
const heldOfName = 17;

interface Mesh {
  readonly world: World;
  connect(pod: string, answers?: Answers): Promise<ScriptedProxy>;
  /** Makes it known, and lets proxies answer. */
  change(...objects: readonly KubeObject[]): Promise<void>;
}

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** So little may stay without anybody's need. */
async function start(mayStay = least): Promise<Mesh> {
  const world = await createWorld(scenario(size), { tidyTimes: { least: mayStay, restMs: 5, maxRestMs: 50 } });
  ends.push(world.close);
  const addresses = { grpc: { host: "127.0.0.1", port: await world.listen() } };
  return {
    world,
    async connect(pod, answers) {
      const proxy = await connectProxy({ addresses }, pod, ["80"], answers);
      ends.push(proxy.close);
      await expect.poll(() => proxy.responses.get("RouteConfiguration") ?? 0).toBeGreaterThan(0);
      return proxy;
    },
    async change(...objects) {
      world.change(objects, []);
      await world.settled();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

const object = (apiVersion: string, kind: string, name: string, generation: number, spec: object): KubeObject => ({
  ...{ apiVersion, kind, spec },
  metadata: { name, namespace: "ns-0", uid: name, generation },
});

/** What is sent to the host tells the generation. */
const route = (name: string, generation: number, { host = hostOf(0, size), exportTo = "*" } = {}): KubeObject =>
  object(networking, "VirtualService", name, generation, {
    hosts: [host],
    exportTo: [exportTo],
    http: [{ headers: { request: { set: { [name]: `${generation}` } } }, route: [{ destination: { host } }] }],
  });
/** From then on no proxy is sent anything of it. */
const elsewhere = { exportTo: "another-namespace" };
const other = { host: hostOf(1, size) };

const httpRoute = (generation: number): KubeObject =>
  object("gateway.networking.k8s.io/v1", "HTTPRoute", "http", generation, {
    parentRefs: [{ group: "", kind: "Service", name: "svc-2" }],
    rules: [
      {
        filters: [
          { type: "RequestHeaderModifier", requestHeaderModifier: { set: [{ name: "x", value: `${generation}` }] } },
        ],
        backendRefs: [{ name: "svc-2", port: 80 }],
      },
    ],
  });

const onRoutes =
  (answer: () => string | undefined): Answers =>
  ({ typeUrl }) =>
    typeUrl.endsWith("RouteConfiguration") ? answer() : undefined;
const silent = onRoutes(() => "silence");

const untilKept = (world: World, count: number): Promise<void> =>
  expect.poll(() => world.programmed.kept).toBeLessThanOrEqual(count);

test("of edits that nobody asks after nothing stays, as on a replica that does not lead", async () => {
  const { world, connect, change } = await start();
  await connect("a.default");
  for (let n = 1; n <= edits; n++) await change(route("web", n));
  await untilKept(world, most);
});

test("of many objects that have come, and whose routes are others now, nothing stays", async () => {
  const { world, connect, change } = await start();
  await connect("a.default");
  for (let n = 0; n < edits; n++) await change(route(`web-${n}`, 1, { host: hostOf(n % size.services, size) }));
  await untilKept(world, most);
});

test("of edits of a kind that the leader does not ask after nothing stays", async () => {
  const { world, connect, change } = await start();
  await connect("a.default");
  for (let n = 1; n <= edits; n++) {
    await change(httpRoute(n), route("web", n));
    await world.programmed.of("VirtualService", "ns-0/web");
  }
  await untilKept(world, most);
});

test("while a proxy never answers, what it may have is remembered and no more, and who asks late is told of it", async () => {
  const { world, connect, change } = await start();
  const { of } = world.programmed;
  const a = await connect("a.default");
  await connect("b.default");
  await change(route("moves", 1), route("web", 1, other));
  await expect.poll(() => of("VirtualService", "ns-0/moves")).toMatchObject({ acknowledged: 2 });
  await a.answer(silent);
  await change(route("moves", 2, elsewhere));
  for (let n = 2; n <= edits; n++) await change(route("web", n, other));
  await untilKept(world, most);
  const still = { generation: 2, affected: 1, waiting: ["a.default"] };
  await expect.poll(() => of("VirtualService", "ns-0/moves")).toMatchObject(still);
  await expect.poll(() => of("VirtualService", "ns-0/web")).toMatchObject({ acknowledged: 1, waiting: ["a.default"] });
  await a.answer(() => undefined);
  await expect.poll(() => of("VirtualService", "ns-0/moves")).toMatchObject({ affected: 0, waiting: [] });
  await expect.poll(() => of("VirtualService", "ns-0/web")).toMatchObject({ acknowledged: 2 });
  await untilKept(world, most);
});

test("what is on its way to a proxy counts as what it has", async () => {
  const { world, connect, change } = await start(0);
  const a = await connect("a.default");
  const moves = () => world.programmed.of("VirtualService", "ns-0/moves");
  const sent = (count: number) => expect.poll(() => a.responses.get("RouteConfiguration") ?? 0).toBe(count);
  await a.answer(silent);
  const before = a.responses.get("RouteConfiguration") ?? 0;
  await change(route("moves", 1));
  await sent(before + 1);
  // Before the first is answered it is taken away.
  await change(route("moves", 2, elsewhere));
  await sent(before + 2);
  // This one reaches nobody, and goes with the next look.
  await change(route("nobody", 1, elsewhere));
  await untilKept(world, 2);
  expect(await moves()).toMatchObject({ waiting: ["a.default"] });
  let answered = 0;
  await a.answer(onRoutes(() => (answered++ === 0 ? undefined : "silence")));
  await change(route("nobody", 2, elsewhere));
  await untilKept(world, 2);
  expect(await moves()).toMatchObject({ waiting: ["a.default"] });
  await a.answer(() => undefined);
  await expect.poll(moves).toMatchObject({ affected: 0, waiting: [] });
  await untilKept(world, 0);
});

test("a proxy that goes on refusing makes nobody remember what it refused", async () => {
  const { world, connect, change } = await start();
  const a = await connect("a.default");
  await connect("b.default");
  await a.answer(onRoutes(() => "no"));
  for (let n = 1; n <= edits; n++) await change(route("web", n));
  await untilKept(world, most);
  await expect
    .poll(() => world.programmed.of("VirtualService", "ns-0/web"))
    .toMatchObject({ generation: edits, affected: 2, acknowledged: 1, refusing: [{ proxy: "a.default" }] });
});

test("of an object that has gone it is known who still has it, where somebody follows that", async () => {
  const { world, connect, change } = await start(0);
  const id = "VirtualService/ns-0/moves";
  const names: (readonly string[])[] = [];
  world.programmed.followReach((of, made) => of === id && names.push([...made]));
  const a = await connect("a.default");
  await connect("b.default");
  await change(route("moves", 1));
  // Of what it has not taken only the latest responses are known.
  await expect.poll(() => world.programmed.of("VirtualService", "ns-0/moves")).toMatchObject({ acknowledged: 2 });
  await untilKept(world, 0);
  await a.answer(silent);
  world.change([], [route("moves", 1)]);
  await change(route("web", 1, other));
  await expect.poll(() => world.programmed.stillHave(id)).toEqual(["a.default"]);
  for (let n = 2; n <= edits; n++) await change(route("web", n, other));
  await untilKept(world, 2 + 1 + heldOfName);
  expect(await world.programmed.stillHave(id)).toEqual(["a.default"]);
  await a.answer(() => undefined);
  await untilKept(world, 0);
  expect(await world.programmed.stillHave(id)).toEqual([]);
  expect(names).toEqual([[], ["80"]]);
});
