/** Services, routes, rules, policies, patches and proxies come, are edited, refused, and go; what is kept must be where it began. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { createReferrer } from "../incremental/references.ts";
import { createWorld } from "../incremental/world.ts";
import { createTeams, teamsWorld } from "./teams.ts";

setFlagsFromString("--expose-gc");
globalThis.gc = runInNewContext("gc") as typeof globalThis.gc;

test("after they have gone nothing is kept of services, objects, proxies and streams", {
  timeout: 300_000,
}, async () => {
  const world = await createWorld([], teamsWorld);
  const port = await world.listen();
  const teams = await createTeams(world, { port, referrer: await createReferrer(), every: 2 });
  await teams.pass(0, 8);
  const before = await teams.counts();
  expect(before).toMatchObject({ streams: 3, skippedPatches: 0, earlier: 0, labelsOfTeams: 0 });
  expect(before).toMatchObject({ refusing: 0, keptFilters: 0 });
  await teams.pass(8, 24);
  expect(await teams.counts()).toEqual(before);
  // Something of the last team may be left until the next change, or for the seconds that a stream may linger; of all teams
  // it would be more than twenty.
  await expect.poll(() => teams.remembered(), { timeout: 60_000 }).toBeLessThan(10);
  expect(world.faults()).toEqual([]);
  teams.close();
  await world.close();
});
