/**
 * `npm run vhds -- [--steps 200] [--seed N] [--envoys 2]`: virtual hosts one by one to real Envoys under traffic. Prints a
 * line for each Envoy and the sum; ends with status 1 where anything was answered wrongly.
 */
import { parseArgs } from "node:util";
import { closeAll } from "../../src/xds/server/testing-envoy.ts";
import { exitAfter, unlessStopped } from "../stop.ts";
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

await exitAfter((stop) => unlessStopped(soakAll(), stop).finally(closeAll));

async function soakAll(): Promise<number> {
  const failed = await Promise.all(seeds.map((one) => soakOne(one, Number(values.steps ?? 200))));
  return failed.includes(true) ? 1 : 0;
}

/** Whether something was answered wrongly. */
async function soakOne(one: number, steps: number): Promise<boolean> {
  try {
    const result = await soak(one, steps);
    print(`seed ${one}: ${say(result)}`);
    for (const wrong of result.wrong.slice(0, 10)) print(`  ${wrong}`);
    return result.wrong.length + result.unexpectedRefusals > 0;
  } catch (error) {
    print(`seed ${one}: ${error instanceof Error ? error.message : String(error)}`);
    return true;
  }
}
