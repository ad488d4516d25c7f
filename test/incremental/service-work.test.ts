/** One Service comes and goes in meshes of different sizes; how much is looked up and made must not depend on the size. */
import { expect, test } from "vitest";
import { networking, scenario } from "../../bench/scale/scenario.ts";
import { envoyTypes, type KubeObject, types } from "../../src/model/index.ts";
import type { LiveProxy } from "./proxies.ts";
import { sidecarOf } from "./scenario-parts.ts";
import { type Connected, createWorld, type World } from "./world.ts";

const namespaces = 4;

const added = (unnamed: boolean): KubeObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "added", namespace: "ns-0" },
  spec: {
    clusterIP: "10.97.0.1",
    ports: unnamed
      ? [{ port: 80, targetPort: 8080 }]
      : [
          { name: "http", port: 80, targetPort: 8080 },
          { name: "tcp-own", port: 9000 },
        ],
  },
});

const proxyIn = (namespace: string, app = "web"): LiveProxy => sidecarOf(namespace, app, "default");

const readAll = (proxy: Connected): void => {
  for (const type of envoyTypes) proxy.all(type);
};

interface Mesh {
  readonly world: World;
  readonly proxies: readonly Connected[];
  /** Look-ups that the work takes. */
  counted(work: () => Promise<void>): Promise<number>;
}

async function meshOf(services: number, unnamed: boolean, more: readonly KubeObject[] = []): Promise<Mesh> {
  const objects = scenario({ services, endpoints: 2, namespaces, routed: 4, unnamed });
  const world = await createWorld([...objects, ...more]);
  const proxies = await Promise.all(Array.from({ length: namespaces }, (_, i) => world.connect(proxyIn(`ns-${i}`))));
  proxies.forEach(readAll);
  return {
    world,
    proxies,
    async counted(work) {
      const before = world.lookUps;
      await work();
      return world.lookUps - before;
    },
  };
}

/** What coming and going take, once everything is there that stays. */
async function changeWork(services: number, unnamed: boolean, more: readonly KubeObject[] = []) {
  const { world, proxies, counted } = await meshOf(services, unnamed, more);
  const object = added(unnamed);
  const taken = async (apply: readonly KubeObject[], remove: readonly KubeObject[]): Promise<number> => {
    const found = await counted(() => {
      world.change(apply, remove);
      return world.settled();
    });
    proxies.forEach(readAll);
    return found;
  };
  await taken([object], []);
  expect(proxies[0]?.all(types.cluster).has("outbound|80||added.ns-0.svc.cluster.local")).toBe(true);
  expect(proxies[0]?.all(types.route).has("added.ns-0.svc.cluster.local:80")).toBe(unnamed);
  await taken([], [object]);
  const found = { coming: await taken([object], []), going: await taken([], [object]) };
  expect(world.faults()).toEqual([]);
  await world.close();
  return found;
}

/** What a class takes that nothing tells apart from others but its names, which traces say. */
async function classWork(services: number, unnamed: boolean, proxy: LiveProxy): Promise<number> {
  const { world, counted } = await meshOf(services, unnamed);
  const found = await counted(async () => readAll(await world.connect(proxy)));
  await world.close();
  return found;
}

/** For one namespace alone, so that not all of its listeners are everybody's. */
const ownRule: KubeObject = {
  apiVersion: networking,
  kind: "DestinationRule",
  metadata: { name: "own", namespace: "ns-1" },
  spec: {
    host: "svc-5.ns-1.svc.cluster.local",
    exportTo: ["."],
    trafficPolicy: { connectionPool: { tcp: { maxConnections: 5 } } },
  },
};

const ports = [
  ["named", false],
  ["unnamed", true],
] as const;

test.each<[string, boolean, readonly KubeObject[]]>([
  ...ports.map(([named, unnamed]): [string, boolean, KubeObject[]] => [`${named} ports`, unnamed, []]),
  ["unnamed ports and a namespace's own rule", true, [ownRule]],
])(
  "with %s, a Service that comes or goes costs the same in a mesh of four times as many services",
  async (_, unnamed, more) => {
    const [small, large] = [await changeWork(40, unnamed, more), await changeWork(160, unnamed, more)];
    expect(large.coming).toBeLessThanOrEqual(small.coming + 20);
    expect(large.going).toBeLessThanOrEqual(small.going + 20);
  },
);

/** Where ports are unnamed each service has a listener, and what traces say is part of it. */
const perListener = 4;

test.each(ports)("with %s ports, of a further class only its own listeners cost", async (_, unnamed) => {
  for (const proxy of [proxyIn("ns-0", "api"), proxyIn("ns-9")]) {
    const [small, large] = [await classWork(40, unnamed, proxy), await classWork(160, unnamed, proxy)];
    expect(large).toBeLessThanOrEqual(small + (unnamed ? 120 * perListener : 0) + 20);
  }
});
