/** An endpoint changes in meshes of few and of many different deployments; what they share is looked up once for all. */
import { expect, test } from "vitest";
import { scenario } from "../../bench/scale/scenario.ts";
import { envoyTypes, types } from "../../src/model/index.ts";
import type { LiveProxy } from "./proxies.ts";
import { changedCluster, sidecarOf, slice } from "./scenario-parts.ts";
import { createWorld } from "./world.ts";

/** Each has a service account and a name of its own. */
function deployment(i: number, namespaces: number): LiveProxy {
  const proxy = sidecarOf(`ns-${i % namespaces}`, `app-${i}`);
  return { ...proxy, node: { ...proxy.node, metadata: { ...proxy.node.metadata, WORKLOAD_NAME: `app-${i}` } } };
}

async function lookUps(deployments: number, namespaces: number): Promise<number> {
  const world = await createWorld([
    ...scenario({ services: 60, endpoints: 2, namespaces, routed: 10 }),
    slice("10.1.0.1"),
  ]);
  const proxies = [];
  for (let i = 0; i < deployments; i++) proxies.push(await world.connect(deployment(i, namespaces)));
  for (const proxy of proxies) for (const type of envoyTypes) proxy.all(type);
  await world.settled();
  const before = world.lookUps;
  world.change([slice("10.1.0.2")], []);
  await world.settled();
  const found = world.lookUps - before;
  for (const proxy of proxies) expect(proxy.told(types.endpoint, changedCluster)).toBe(true);
  await world.close();
  return found;
}

test.each([3, 30])(
  "thirty deployments in %i namespaces cost two look-ups each beyond what one costs",
  async (namespaces) => {
    const [one, all] = [await lookUps(1, namespaces), await lookUps(30, namespaces)];
    expect(all - one).toBeLessThanOrEqual(2 * 29);
  },
);
