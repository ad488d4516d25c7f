/**
 * `npm run fuzz -- [--seed N] [--runs N] [--target NAME] [--first N] [--record]`: a round of all targets, or one run again.
 * With `--record` what was run is written to docs/reference/fuzz.md.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { type FuzzReport, fuzz } from "./fuzz.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    runs: { type: "string", default: "20000" },
    target: { type: "string", default: "" },
    first: { type: "string", default: "0" },
    record: { type: "boolean", default: false },
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
if (values.record) writeFileSync(new URL("../../docs/reference/fuzz.md", import.meta.url), page(seed, report));
process.exitCode = report.hang || report.outcomes.some(({ crashes }) => crashes.length > 0) ? 1 : 0;

function page(of: number, { outcomes, hang }: FuzzReport): string {
  const sum = (count: (outcome: (typeof outcomes)[number]) => number): string =>
    outcomes.reduce((all, outcome) => all + count(outcome), 0).toLocaleString("en");
  const rows = outcomes.map(
    ({ target, runs, answered, crashes }) => `| ${target} | ${runs} | ${answered} | ${crashes.length} |`,
  );
  return `# What was fuzzed

Made by \`npm run fuzz -- --seed ${of} --runs ${values.runs} --record\`: input that is almost good, to everything that reads outside
input; the tests run some of each. *Answered* is what was taken; the rest was refused in words. A crash is anything else.

${outcomes.length} targets, ${sum(({ runs }) => runs)} runs, ${sum(({ crashes }) => crashes.length)} crashes, ${hang ? "a hang" : "no hang"}.

| target | runs | answered | crashes |
|---|---|---|---|
${rows.join("\n")}
`;
}
