/** `npm run histories -- [COUNT] [SEED]`: that many histories of concurrent clients with crashes, each checked. */
import { checkHistory } from "./check.ts";
import { runHistory } from "./run.ts";

const [count = 100, first = 1] = process.argv.slice(2).map(Number);
const total = { histories: 0, operations: 0, events: 0, segments: 0, faults: 0 };
for (let seed = first; seed < first + count; seed++) {
  const history = await runHistory({ seed, crashes: seed % 3, historyLimit: [12, 24, 2048][seed % 3] ?? 24 });
  const faults = checkHistory(history);
  total.histories++;
  total.operations += history.operations.length;
  total.segments += history.segments.length;
  total.events += history.segments.reduce((sum, { events }) => sum + events.length, 0);
  total.faults += faults.length;
  for (const fault of faults.slice(0, 5)) process.stdout.write(`seed ${seed}: ${fault}\n`);
}
process.stdout.write(`${JSON.stringify(total)}\n`);
process.exitCode = total.faults === 0 ? 0 : 1;
