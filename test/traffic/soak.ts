// The long forms of make before break and of churn, with figures: node test/traffic/soak.ts [flips=1000] [seconds=60]
import { runChurn, runOutage } from "./churn.ts";
import { runFlips } from "./flips.ts";

const [flips, seconds] = [Number(process.argv[2] ?? 1000), Number(process.argv[3] ?? 60)];
const say = (text: string): boolean => process.stdout.write(`${text}\n`);
let failed = false;

function tell(
  what: string,
  report: { requests: number; failures: readonly string[]; refusals: readonly string[] },
): void {
  const bad = report.failures.length + report.refusals.length;
  say(
    `${what}: ${report.requests} requests, ${report.failures.length} failed, ${report.refusals.length} refusals by Envoy`,
  );
  for (const line of [...report.failures, ...report.refusals]) say(`  ${line}`);
  failed ||= bad > 0;
}

const flipped = await runFlips({ flips }, (done) => say(`  ${done} flips`));
tell(`${flipped.flips} flips in ${flipped.seconds.toFixed(1)} s`, flipped);
const churned = await runChurn(seconds);
tell(`${churned.changes} changes of endpoints in ${seconds} s and a rolling deploy`, churned);
const outage = await runOutage(seconds);
tell(`${seconds} s without a control plane, dead server ${outage.ejected ? "" : "not "}ejected`, outage);
process.exitCode = failed || !outage.ejected || !outage.caughtUp ? 1 : 0;
