/** `npm run fuzz -- [--seed N] [--runs N] [--target NAME] [--first N]`: rounds of all targets until told to stop, or one run again. */
import { parseArgs } from "node:util";
import { fuzz } from "./fuzz.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    runs: { type: "string", default: "20000" },
    target: { type: "string", default: "" },
    first: { type: "string", default: "0" },
  },
});
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
process.stdout.write(`seed ${seed}; the same again with --seed ${seed}\n`);
const report = await fuzz(
  { seed, runs: Number(values.runs), first: Number(values.first), only: values.target },
  ({ target, runs, answered, crashes, longest }) => {
    process.stdout.write(
      `${target.padEnd(24)} ${runs} runs, ${answered} answered, ${crashes.length} crashes, ` +
        `longest ${Math.round(longest.ms)} ms (run ${longest.run}, ${longest.inputSize} characters)\n`,
    );
    for (const { run, why, input } of crashes)
      process.stdout.write(`  --target ${JSON.stringify(target)} --first ${run} --runs 1: ${why}\n  ${input}\n`);
  },
);
if (report.hang) process.stdout.write(`hangs: target ${report.hang.target}, run ${report.hang.run}\n`);
process.exitCode = report.hang || report.outcomes.some(({ crashes }) => crashes.length > 0) ? 1 : 0;
