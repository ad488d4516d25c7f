/**
 * `npm run vhds -- [--steps 200] [--seed N] [--envoys 2]`: virtual hosts one by one to real Envoys under traffic. Prints a
 * line for each Envoy and the sum; ends with status 1 where anything was answered wrongly.
 */
import { parseArgs } from "node:util";
import { closeAll } from "../../src/xds/server/testing-envoy.ts";
import { type SoakResult, soak } from "./soak.ts";

const { values } = parseArgs({
  options: { steps: { type: "string" }, seed: { type: "string" }, envoys: { type: "string" } },
});
const seed = Number(values.seed ?? Date.now() % 1_000_000);
const seeds = Array.from({ length: Number(values.envoys ?? 2) }, (_, i) => seed + i);
const print = (line: string): void => void process.stdout.write(`${line}\n`);

const say = ({ wrong, ...counts }: SoakResult): string =>
  Object.entries({ ...counts, wrong: wrong.length })
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");

let failed = false;
await Promise.all(
  seeds.map(async (one) => {
    try {
      const result = await soak(one, Number(values.steps ?? 200));
      print(`seed ${one}: ${say(result)}`);
      for (const wrong of result.wrong.slice(0, 10)) print(`  ${wrong}`);
      failed ||= result.wrong.length + result.unexpectedRefusals > 0;
    } catch (error) {
      failed = true;
      print(`seed ${one}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }),
);
await closeAll();
process.exit(failed ? 1 : 0);
