/** Faults of ours in what is made for proxies: what is said of objects meanwhile, and that others go on. */
import { afterEach, expect, test, vi } from "vitest";
import { hostOf, networking, scenario } from "../../bench/scale/scenario.ts";
import { connectProxy, type ScriptedProxy } from "../../src/control-plane/testing.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { createWorld, type World } from "./world.ts";

const fault = "a fault of ours";

/** A header by this name makes a route fail. */
vi.mock("../../src/render/route/headers.ts", async (original) => {
  const headers = await original<Record<string, unknown>>();
  const headerEdits = headers["headerEdits"] as (of: unknown) => unknown;
  return {
    ...headers,
    headerEdits(of: unknown) {
      if (JSON.stringify(of ?? {}).includes("x-fault")) throw new Error(fault);
      return headerEdits(of);
    },
  };
});
/** Proxies of this namespace have no secrets made. */
vi.mock("../../src/render/secret/names.ts", async (original) => {
  const names = await original<Record<string, unknown>>();
  const secretNames = names["secretNames"] as (view: { readonly proxy: { readonly namespace: string } }) => unknown;
  return {
    ...names,
    secretNames(view: Parameters<typeof secretNames>[0]) {
      const found = secretNames(view);
      if (view.proxy.namespace === "ns-1") throw new Error(fault);
      return found;
    },
  };
});

const size = { services: 4, endpoints: 1, namespaces: 2, routed: 0 };
const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const route = (generation: number, header: string): KubeObject => ({
  apiVersion: networking,
  kind: "VirtualService",
  metadata: { name: "web", namespace: "ns-0", uid: "web", generation },
  spec: {
    hosts: [hostOf(0, size)],
    http: [
      {
        headers: { request: { set: { [header]: `${generation}` } } },
        route: [{ destination: { host: hostOf(0, size) } }],
      },
    ],
  },
});

async function start(
  ...pods: readonly string[]
): Promise<{ readonly world: World; readonly proxies: readonly ScriptedProxy[] }> {
  const world = await createWorld(scenario(size));
  ends.push(world.close);
  const addresses = { grpc: { host: "127.0.0.1", port: await world.listen() } };
  const proxies: ScriptedProxy[] = [];
  for (const pod of pods) {
    const proxy = await connectProxy({ addresses }, pod, ["80"]);
    ends.push(proxy.close);
    await expect.poll(() => proxy.responses.get("RouteConfiguration") ?? 0).toBeGreaterThan(0);
    proxies.push(proxy);
  }
  return { world, proxies };
}

test("a generation that could not be made is not said to be with proxies, until one is made", async () => {
  const { world } = await start("a.default");
  const verdict = () => world.programmed.of("VirtualService", "ns-0/web");
  const apply = async (object: KubeObject): Promise<void> => {
    world.change([object], []);
    await world.settled();
  };
  await apply(route(1, "x-a"));
  await expect.poll(verdict).toMatchObject({ generation: 1, affected: 1, acknowledged: 1 });
  await apply(route(2, "x-fault"));
  expect(world.faults()).toContainEqual(expect.stringContaining(fault));
  expect(await verdict()).toMatchObject({ generation: 2, affected: 1, acknowledged: 0, waiting: ["a.default"] });
  await apply(route(3, "x-b"));
  await expect.poll(verdict).toMatchObject({ generation: 3, affected: 1, acknowledged: 1, waiting: [] });
});

test("what comes out as it was, once it can be made again, is there", async () => {
  const { world } = await start("a.default");
  const verdict = () => world.programmed.of("VirtualService", "ns-0/web");
  for (const [generation, header] of [
    [1, "x-a"],
    [2, "x-fault"],
  ] as const) {
    world.change([route(generation, header)], []);
    await world.settled();
    await expect.poll(verdict).toMatchObject({ generation, acknowledged: 2 - generation });
  }
  world.faults();
  world.change([{ ...route(1, "x-a"), metadata: { ...route(3, "").metadata } }], []);
  await world.settled();
  await expect.poll(verdict).toMatchObject({ generation: 3, affected: 1, acknowledged: 1, waiting: [] });
});

const filter: KubeObject = {
  apiVersion: "networking.istio.io/v1alpha3",
  kind: "EnvoyFilter",
  metadata: { name: "timeouts", namespace: "ns-1", uid: "timeouts", generation: 1 },
  spec: { configPatches: [{ applyTo: "CLUSTER", patch: { operation: "MERGE", value: { connect_timeout: "7s" } } }] },
};

const credentials: KubeObject = {
  apiVersion: networking,
  kind: "DestinationRule",
  metadata: { name: "tls", namespace: "ns-0", uid: "tls", generation: 1 },
  spec: { host: hostOf(1, size), trafficPolicy: { tls: { mode: "SIMPLE", credentialName: "secret" } } },
};

test.each<[string, (world: World) => void]>([
  ["", () => {}],
  [", be it patched", (world) => world.change([filter], [])],
  [", while somebody wants to know what changes", (world) => world.followMoves({ wants: () => true, moved: () => {} })],
  [", when something changes that it is made of", (world) => world.change([credentials], [])],
])("a class of which one type cannot be made keeps nobody from hearing of objects%s", async (_case, prepare) => {
  const { world } = await start("a.default", "b.ns-1");
  prepare(world);
  world.change([route(1, "x-a")], []);
  await world.settled();
  const verdict = () => world.programmed.of("VirtualService", "ns-0/web");
  await expect.poll(verdict).toMatchObject({ generation: 1, affected: 2, acknowledged: 2 });
});
