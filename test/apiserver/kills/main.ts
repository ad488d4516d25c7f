/** `npm run kills -- [COUNT] [SEED]`: ends a process that writes to the store that often, at every step of a write, and looks what is left. */
import { killMany } from "./run.ts";

const [count = 1000, seed = 1] = process.argv.slice(2).map(Number);
const report = killMany(count, seed);
process.stdout.write(`${JSON.stringify({ ...report, faults: report.faults.length })}\n`);
for (const fault of report.faults.slice(0, 20)) process.stdout.write(`${fault}\n`);
process.exitCode = report.faults.length === 0 ? 0 : 1;
