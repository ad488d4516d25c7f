/** `npm run why-check -- [--seed N] [--rounds N] [--requests N]`: the evaluator of `fairlead why` against real Envoys. */
import { parseArgs } from "node:util";
import { checkWhy } from "./check.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    rounds: { type: "string", default: "40" },
    requests: { type: "string", default: "60" },
  },
});
const { requests, counts, differences } = await checkWhy({
  seed: Number(values.seed),
  rounds: Number(values.rounds),
  requests: Number(values.requests),
  tell: (line) => console.info(line),
});
for (const [name, count] of [...counts].sort(([a], [b]) => (a < b ? -1 : 1)))
  console.info(`${String(count).padStart(6)}  ${name}`);
console.info(`${requests} requests, ${differences.length} differ`);
process.exitCode = differences.length === 0 ? 0 : 1;
process.exit();
