/**
 * `npm run bench -- departed [teams]`: services, routes, rules, policies, patches and proxies come, are edited, refused and go; what is
 * kept, the memory and the CPU that a team costs, at the start and at the end. Ends with status 1 where something is kept.
 */

import { getHeapSpaceStatistics } from "node:v8";
import { createTeams, teamsWorld } from "../test/departed/teams.ts";
import { createReferrer } from "../test/incremental/references.ts";
import { createWorld } from "../test/incremental/world.ts";

const total = Number(process.argv[2] ?? 10_000);
const batch = 100;

const world = await createWorld([], teamsWorld);
const port = await world.listen();
const teams = await createTeams(world, { port, referrer: await createReferrer(), every: 25 });

async function measure(done: number): Promise<Readonly<Record<string, number>>> {
  const before = process.cpuUsage();
  await teams.pass(done, batch);
  const { user, system } = process.cpuUsage(before);
  const counts = await teams.counts();
  const remembered = await teams.remembered();
  const figures = {
    teams: done + batch,
    "CPU ms a team": Math.round((user + system) / batch / 100) / 10,
    "objects MB": Math.round(objectBytes() / 1e4) / 100,
    "resident MB": Math.round(process.memoryUsage().rss / 1e6),
  };
  process.stdout.write(`${JSON.stringify({ ...figures, ...counts, remembered })}\n`);
  // Something of the last team may be left until the next change.
  return { ...counts, remembered: remembered < 10 ? 0 : remembered };
}

/** Code that V8 makes and drops as it likes is left out. */
function objectBytes(): number {
  const spaces = getHeapSpaceStatistics().filter(({ space_name: name }) => !/code|trusted|read_only/.test(name));
  return spaces.reduce((sum, { space_used_size: size }) => sum + size, 0);
}

await measure(0);
const first = await measure(batch);
let last = first;
for (let done = 2 * batch; done < total; done += batch) last = await measure(done);
teams.close();
await world.close();
process.exit(JSON.stringify(first) === JSON.stringify(last) ? 0 : 1);
