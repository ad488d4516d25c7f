/**
 * `npm run turns -- [PATTERN...]`: requests at the bounds of what the embedded API and the control plane take; prints for how
 * long each kept the event loop in one turn, in processor time, and how much of that was a collection of garbage; fails where
 * one did for more than 100 ms.
 */
import { apiRequests } from "./kinds/api-requests.ts";
import { largeObjects } from "./kinds/large-objects.ts";
import { planeRequests } from "./kinds/plane-requests.ts";
import { startWorld } from "./world.ts";

const limitMs = 100;
const patterns = process.argv.slice(2).map((pattern) => pattern.toLowerCase());
const isAsked = (name: string): boolean => patterns.length === 0 || patterns.some((one) => name.includes(one));
const world = await startWorld();
const long: string[] = [];
let count = 0;
for await (const { name, of, run } of all()) {
  let outcome = "";
  const { ms, garbageMs } = await world.measured[of].longestTurn(async () => {
    outcome = await run().catch((error: unknown) => (error instanceof Error ? error.message : String(error)));
  });
  count++;
  const numbers = [ms, garbageMs].map((each) => Math.round(each).toString().padStart(5));
  const line = `${numbers.join(" ms,")} collecting  ${of.padEnd(5)}  ${name}: ${outcome.slice(0, 100)}`;
  process.stdout.write(`${line}\n`);
  if (ms > limitMs) long.push(line);
}
await world.close();
process.stdout.write(`${count} requests, ${long.length} with a turn of more than ${limitMs} ms\n`);
for (const line of long) process.stdout.write(`${line}\n`);
process.exitCode = long.length > 0 ? 1 : 0;

async function* all() {
  for (const kinds of [apiRequests(world), planeRequests(world), largeObjects(world)])
    for await (const one of kinds) if (isAsked(one.name.toLowerCase())) yield one;
}
