/**
 * `npm run incremental -- --steps 10000 --seed N [--life 100]`: random lives, of so many steps each, until the steps are
 * done. Prints each seed; ends with status 1 at the first difference.
 */
import { parseArgs } from "node:util";
import { search } from "./search.ts";

const { values } = parseArgs({
  options: { steps: { type: "string" }, seed: { type: "string" }, life: { type: "string" } },
});
const total = Number(values.steps ?? 1000);
const life = Math.min(Number(values.life ?? 100), total);
let seed = Number(values.seed ?? Date.now() % 1_000_000);

for (let done = 0; done < total; done += life, seed++) {
  const started = performance.now();
  const { difference, refusals, dialed } = await search(seed, Math.min(life, total - done), 300_000);
  if (difference !== undefined) {
    process.stdout.write(`${difference}\n`);
    process.exit(1);
  }
  const took = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(
    `seed ${seed}: no difference in ${Math.min(life, total - done)} steps, ${refusals} refusals and ${dialed} gRPC resources (${took} s, ${done + life} of ${total})\n`,
  );
}
process.exit(0);
