/** A herd of different deployments comes in while something changes for those who are there, one of whom changes its class. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { scenario } from "../../bench/scale/scenario.ts";
import { envoyTypes, type KubeObject, types } from "../../src/model/index.ts";
import { createFastClock } from "./fast-clock.ts";
import { changedCluster, sidecarOf, slice } from "./scenario-parts.ts";
import { createWorld } from "./world.ts";

const herd = 40;

const clock = createFastClock();
afterEach(clock.stop);

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

/** Turns of the event loop until it is there; with the fast clock each has one small step of all work in slices. */
async function turnsUntil(work: Promise<unknown>): Promise<number> {
  let isThere = false;
  void work.finally(() => {
    isThere = true;
  });
  let turns = 0;
  for (; !isThere; turns++) await nextTurn();
  return turns;
}

test("who comes last among 300 deployments waits for few turns, and who comes while a push goes on not for its end", async () => {
  const world = await createWorld(scenario({ services: 300, endpoints: 1, namespaces: 4, routed: 10 }), {
    debounceMs: 3_600_000,
  });
  for (let i = 0; i < 4; i++) await world.connect(sidecarOf(`ns-${i}`, "first"));
  clock.start();
  const coming = Array.from({ length: 300 }, (_, i) => world.connect(sidecarOf(`ns-${i % 4}`, `app-${i}`)));
  // What they share is made: there are three steps for each.
  expect(await turnsUntil(Promise.all(coming))).toBeLessThan(4 * coming.length);
  const there = await Promise.all(coming);
  for (const proxy of there) for (const type of envoyTypes) proxy.all(type);
  const told = (): number => there.filter((proxy) => proxy.told(types.endpoint, changedCluster)).length;
  world.change([slice("10.1.0.9")], []);
  const push = world.push();
  while (told() === 0) await nextTurn();
  expect(await turnsUntil(world.connect(sidecarOf("ns-0", "late")))).toBeLessThan(10);
  expect(told()).toBeLessThan(there.length / 2);
  await push;
  expect(told()).toBe(there.length);
  expect(world.faults()).toEqual([]);
  await world.close();
});
