/**
 * `npm run chaos`: flags in; faults played on a mesh of twelve workloads under load, singly and in pairs, and a table out.
 * Needs root, iptables and Envoy.
 */
import { parseArgs } from "node:util";
import { createRandom, type Random } from "../random.ts";
import { exitAfter, unlessStopped } from "../stop.ts";
import { canPair, type Fault } from "./faults/fault.ts";
import { faults } from "./faults/index.ts";
import { startChaosMesh, twelve } from "./mesh.ts";
import { type Outcome, play } from "./play.ts";
import { type RowReport, rows } from "./rows.ts";
import { causeLines, outcomeTable, rowTable } from "./table.ts";

const usage = `npm run chaos -- [flags]
  --list             the faults and rows that there are
  --only NAMES       these faults alone, separated by commas; \`a+b\` are played together
  --skip-singles     pairs alone
  --pairs N          so many random pairs afterwards (default 20)
  --seconds N        go on with random pairs for so long
  --seed N           the same choices again
  --pause MS         between two requests of one of the ten workers of the client (default 20)
  --old COMMIT       what the older version is built from (default: HEAD~30)
  --rows NAMES       long rows instead of faults; \`all\` for each
  --share S          that share of a row's full length (default 1)
  -o json            machine-readable
`;

const { values } = parseArgs({
  options: {
    list: { type: "boolean" },
    help: { type: "boolean" },
    only: { type: "string" },
    "skip-singles": { type: "boolean", default: false },
    pairs: { type: "string", default: "20" },
    seconds: { type: "string", default: "0" },
    seed: { type: "string" },
    pause: { type: "string", default: "20" },
    old: { type: "string", default: "HEAD~30" },
    rows: { type: "string" },
    share: { type: "string", default: "1" },
    output: { type: "string", short: "o", default: "table" },
  },
});
/** To take back what was done to the mesh, and the machine, in the middle of a fault. */
const graceMs = 20_000;
const json = values.output === "json";
const say = (text: string): boolean => process.stderr.write(`${text}\n`);

if (values.help) process.stdout.write(usage);
else if (values.list) list();
else await exitAfter((stop) => (values.rows === undefined ? playFaults(stop) : playRows(values.rows.split(","), stop)));

function list(): void {
  for (const { name, what, expected } of faults)
    process.stdout.write(`${name}\n    ${what}\n    expected: ${expected}\n`);
  for (const { name, what } of rows) process.stdout.write(`row ${name}\n    ${what}\n`);
}

async function playRows(names: readonly string[], stop: AbortSignal): Promise<number> {
  const share = Number(values.share);
  const reports: (readonly [string, RowReport])[] = [];
  for (const row of rows.filter(({ name }) => names.includes(name) || names.includes("all"))) {
    say(`${row.name}: ${row.what} …`);
    const report = await row.run({ share, say, stop });
    reports.push([row.name, report]);
    for (const fault of report.faults.slice(0, 20)) say(`  ${fault}`);
  }
  process.stdout.write(json ? `${JSON.stringify(Object.fromEntries(reports), null, 2)}\n` : rowTable(reports));
  return reports.every(([, { failed, faults }]) => failed === 0 && faults.length === 0) ? 0 : 1;
}

function faultOf(wanted: string): Fault {
  const found = faults.find(({ name }) => name === wanted);
  if (!found) throw new Error(`no fault ${wanted}; \`--list\` has their names`);
  return found;
}

function pickPair(from: readonly Fault[], random: Random): readonly Fault[] {
  const first = random.pick(from);
  const others = from.filter((fault) => canPair(first, fault));
  return others.length > 0 ? [first, random.pick(others)] : [first];
}

async function playFaults(stop: AbortSignal): Promise<number> {
  const seed = Number(values.seed ?? Date.now() % 1_000_000);
  const random = createRandom(seed);
  const first = values.only?.split(",").map((names) => names.split("+").map(faultOf)) ?? faults.map((fault) => [fault]);
  const chosen = [...new Set(first.flat())];
  say(`seed ${seed}; starting a mesh of twelve workloads …`);
  const mesh = await startChaosMesh({ apps: twelve, pauseMs: Number(values.pause), oldCommit: values.old, say, stop });
  say(`the older version is ${mesh.bundles.other}`);
  const outcomes: Outcome[] = [];
  const playOne = async (together: readonly Fault[]): Promise<void> => {
    stop.throwIfAborted();
    const lacking = together.map((fault) => fault.lacks?.(mesh)).find((text) => text !== undefined);
    if (lacking !== undefined) return void say(`${together.map(({ name }) => name).join(" + ")} needs ${lacking}`);
    const outcome = await unlessStopped(play(mesh, together, random, stop), stop, graceMs);
    outcomes.push(outcome);
    say(outcomeTable([outcome]).trimEnd());
    if (outcome.healMs > 5_000) say(`  waited for ${outcome.waitedFor}`);
    const lines = causeLines([outcome]).trimEnd();
    if (lines !== "") say(lines);
  };
  try {
    const started = performance.now();
    if (!values["skip-singles"]) for (const together of first) await playOne(together);
    for (let i = 0; i < Number(values.pairs) && chosen.length > 1; i++) await playOne(pickPair(chosen, random));
    while (performance.now() - started < Number(values.seconds) * 1000) await playOne(pickPair(chosen, random));
  } finally {
    await mesh.close();
  }
  const report = { seed, outcomes };
  if (json) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  else process.stdout.write(`\n${outcomeTable(outcomes)}\n${causeLines(outcomes)}`);
  return outcomes.length > 0 && outcomes.every(({ wrong }) => wrong.length === 0) ? 0 : 1;
}
