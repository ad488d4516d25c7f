/**
 * What proxies are given after any life of a mesh equals what they would be given after a fresh start. Longer lives:
 * `npm run incremental`. One life again: FAIRLEAD_SEED=… FAIRLEAD_STEPS=… npm test -- test/incremental
 */
import { expect, test } from "vitest";
import type { KubeObject } from "../../src/model/index.ts";
import { createRandom } from "../random.ts";
import { createLife } from "./life.ts";
import { createPlayer } from "./play.ts";
import { asGrpc, proxy } from "./proxies.ts";
import { sayDifference } from "./report.ts";
import { search } from "./search.ts";
import { object, serviceHost } from "./words.ts";

const { FAIRLEAD_SEED: seed, FAIRLEAD_STEPS: steps = "22" } = process.env;
// One of each settings: own hosts only, none, a revision, both.
const seeds = seed === undefined ? [2, 12, 21, 35] : [Number(seed)];
let [refused, dialed] = [0, 0];

test.each(seeds)(
  `the mesh of seed %i lives ${steps} steps and is what a fresh one would be`,
  async (one) => {
    const found = await search(one, Number(steps), 60_000);
    expect(found.difference).toBeUndefined();
    refused += found.refusals;
    dialed += found.dialed;
  },
  3_600_000,
);

test.runIf(seed === undefined)("streams of these lives have refused things", () => {
  expect(refused).toBeGreaterThan(20);
});

test.runIf(seed === undefined)("streams of gRPC applications of these lives have got what they asked for", () => {
  expect(dialed).toBeGreaterThan(20);
});

test("steps of a life come in the middle of rounds, and what they change is told", async () => {
  const { steps: life, settings } = createLife(21, 40);
  const player = await createPlayer({ isReplayable: true, settings });
  for (const step of life) await player.step(step);
  expect(player.between).toBeGreaterThanOrEqual(8);
  expect(await player.compare(0)).toBeUndefined();
  await player.close();
});

test("EnvoyFilters are withheld from proxies of a life, and given back", async () => {
  const { steps: life, settings } = createLife(34, 40);
  const player = await createPlayer({ isReplayable: true, settings });
  const withholding = new Set<number>();
  for (const step of life) {
    await player.step(step);
    withholding.add(player.withholding);
  }
  expect(withholding.size).toBeGreaterThanOrEqual(3);
  expect(await player.compare(0)).toBeUndefined();
  await player.close();
});

test.each([17])(
  "gRPC applications of seed %i are told what a fresh mesh would tell them",
  async (one) => {
    const { steps: life, settings } = createLife(one, 30);
    const player = await createPlayer({ settings });
    for (const [i, step] of life.entries()) {
      await player.step(step.does === "connect" ? { ...step, proxy: asGrpc(step.proxy) } : step);
      if (i % 10 === 9 || i === life.length - 1) expect(await player.compare(i)).toBeUndefined();
    }
    await player.close();
  },
  300_000,
);

const host = serviceHost("a", "red");
const networking = "networking.istio.io/v1";

test.each<readonly [string, readonly KubeObject[], KubeObject]>([
  [
    "another port for captured connections",
    [],
    object("v1", "ConfigMap", "istio", "istio-system", { data: { mesh: '{"proxyInboundListenPort": 15106}' } }),
  ],
  [
    "a Sidecar that hides a TCP route",
    [
      object("v1", "Service", "a", "red", { spec: { clusterIP: "10.96.0.1", ports: [{ name: "tcp", port: 9000 }] } }),
      object(networking, "VirtualService", "away", "green", {
        spec: { hosts: [host], tcp: [{ route: [{ destination: { host: "elsewhere.example.com" } }] }] },
      }),
    ],
    object(networking, "Sidecar", "default", "red", { spec: { egress: [{ hosts: ["red/*"] }] } }),
  ],
])("%s reaches proxies that are connected", async (_what, objects, change) => {
  const player = await createPlayer();
  await player.step({ does: "change", apply: objects, remove: [] });
  for (let slot = 0; slot < 10; slot++) await player.step({ does: "connect", proxy: proxy(createRandom(slot), slot) });
  await player.step({ does: "change", apply: [change], remove: [] });
  expect(await player.compare(0)).toBeUndefined();
  await player.step({ does: "change", apply: [], remove: [change] });
  expect(await player.compare(1)).toBeUndefined();
  await player.close();
});

test("a mesh that differs from a fresh one is found, and the report says where", async () => {
  const player = await createPlayer();
  await player.step({ does: "connect", proxy: proxy(createRandom(1), 0) });
  expect(await player.compare(0)).toBeUndefined();
  // Behind the back of the player, so that the fresh mesh does not know of it.
  player.world.change(
    [
      object("v1", "Service", "secretly", "red", {
        spec: { clusterIP: "10.96.9.9", ports: [{ name: "tcp", port: 9 }] },
      }),
    ],
    [],
  );
  await player.world.settled();
  const difference = await player.compare(1);
  await player.close();
  expect(difference).toMatchObject({
    step: 1,
    what: "should be gone",
    name: `outbound|9||${serviceHost("secretly", "red")}`,
  });
  if (!difference) return;
  const said = await sayDifference({ seed: 7, steps: 1, met: difference, life: [], difference });
  expect(said).toContain("FAIRLEAD_SEED=7 FAIRLEAD_STEPS=1");
  expect(said).toContain(`- live  .name = "outbound|9||${serviceHost("secretly", "red")}"`);
});
