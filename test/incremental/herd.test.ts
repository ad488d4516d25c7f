/** A herd of different deployments comes in while something changes for those who are there, one of whom changes its class. */
import { expect, test } from "vitest";
import { scenario } from "../../bench/scale/scenario.ts";
import { envoyTypes, type KubeObject, types } from "../../src/model/index.ts";
import { changedCluster, sidecarOf, slice } from "./scenario-parts.ts";
import { createWorld } from "./world.ts";

const herd = 40;

const sidecar = (namespace: string, app: string): KubeObject => ({
  apiVersion: "networking.istio.io/v1",
  kind: "Sidecar",
  metadata: { name: app, namespace },
  spec: { workloadSelector: { labels: { app } }, egress: [{ hosts: ["*/*"] }] },
});

/** Two that are there, and a herd that has begun to come. */
async function begin() {
  // Each of the herd has a scope of its own, so that nothing is made for it yet.
  const scopes = Array.from({ length: herd }, (_, i) => sidecar(`team-${i}`, "web"));
  const world = await createWorld([...scenario({ services: 300, endpoints: 1, namespaces: 4, routed: 10 }), ...scopes]);
  const stays = await world.connect(sidecarOf("ns-0", "stays"));
  const moves = await world.connect(sidecarOf("ns-1", "moves"));
  for (const proxy of [stays, moves]) for (const type of envoyTypes) proxy.all(type);
  await world.settled();
  stays.forget();
  const made = { count: 0 };
  const coming = scopes.map(async ({ metadata }) => {
    const proxy = await world.connect(sidecarOf(metadata.namespace ?? "", "web"));
    made.count++;
    return proxy;
  });
  const untilTold = async (): Promise<void> => {
    while (!stays.told(types.endpoint, changedCluster)) await new Promise((resolve) => setTimeout(resolve, 1));
    stays.forget();
  };
  return { world, stays, moves, coming, made, untilTold };
}

test("a push does not wait for a herd, also where a proxy that is there gets another class", async () => {
  const { world, stays, moves, coming, made, untilTold } = await begin();
  world.change([slice("10.1.0.9"), sidecar("ns-1", "moves")], []);
  await untilTold();
  expect(made.count).toBeLessThan(herd / 2);
  const all = await Promise.all(coming);
  await world.settled();
  for (const proxy of [stays, moves, ...all])
    expect(proxy.all(types.endpoint).get(changedCluster)).toBe(stays.all(types.endpoint).get(changedCluster));
  expect(world.faults()).toEqual([]);
  await world.close();
});
