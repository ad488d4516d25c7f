/** Services, routes, rules, policies, patches and proxies come and go; what is kept must be where it began. */
import { expect, test } from "vitest";
import { createReferrer } from "../incremental/references.ts";
import { createWorld } from "../incremental/world.ts";
import { createTeams, settledCounts } from "./teams.ts";

test("after they have gone nothing is kept of services, objects, proxies and streams", {
  timeout: 300_000,
}, async () => {
  const world = await createWorld([]);
  const port = await world.listen();
  const teams = await createTeams(world, { port, referrer: await createReferrer(), every: 2 });
  await teams.pass(0, 8);
  const before = await settledCounts(world);
  expect(before).toMatchObject({ streams: 0, skippedPatches: 0 });
  await teams.pass(8, 24);
  expect(await settledCounts(world)).toEqual(before);
  expect(world.faults()).toEqual([]);
  await world.close();
});
