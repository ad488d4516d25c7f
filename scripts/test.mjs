// `npm test`: brings what is missing, runs the tests, and closes with the counts. Arguments go to vitest.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ensureEnvoy } from "./envoy.mjs";
import { ensureHelm } from "./helm.mjs";
import { ensureKubectl } from "./kubectl.mjs";
import { prepareMachine } from "./preflight/prepare.mjs";
import { ensureAll, nodeBin, root, withLock } from "./setup.mjs";

const wholeSuite = process.argv.length === 2;
if (wholeSuite)
  await prepareMachine({ purpose: "test", root, again: "npm test" }).catch((error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  });
await withLock(ensureAll);
const env = { ...process.env, PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH}` };
await bring("Envoy", () => {
  env.FAIRLEAD_ENVOY = ensureEnvoy(nodeBin());
});
await bring("kubectl", async () => {
  env.PATH = `${await ensureKubectl()}:${env.PATH}`;
});
await bring("Helm", () => {
  env.FAIRLEAD_HELM = ensureHelm(nodeBin());
});
const report = join(root, ".cache/test-report.json");
const skips = join(root, ".cache/test-skips");
mkdirSync(join(root, ".cache"), { recursive: true });
for (const file of [report, skips]) rmSync(file, { force: true });
env.FAIRLEAD_SKIP_LOG = skips;

const run = spawnSync(
  nodeBin(),
  [
    join(root, "node_modules/vitest/vitest.mjs"),
    "run",
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${report}`,
    ...process.argv.slice(2),
  ],
  { cwd: root, stdio: "inherit", env },
);
const counts = existsSync(report) ? JSON.parse(readFileSync(report, "utf8")) : undefined;
const passed = counts?.numPassedTests ?? 0;
const skipped = (counts?.numPendingTests ?? 0) + (counts?.numTodoTests ?? 0);
// A file that fails to load has no tests to count, but it is a failure all the same.
const brokenFiles = (counts?.testResults ?? []).filter(
  (file) => file.status === "failed" && file.assertionResults.length === 0,
).length;
const failed = (counts?.numFailedTests ?? 0) + brokenFiles + (counts ? 0 : 1);
const reasons = existsSync(skips)
  ? [...new Set(readFileSync(skips, "utf8").trim().split("\n"))].sort().join("; ")
  : "none";
process.stdout.write(`\n${skipped} skipped: ${skipped === 0 ? "none" : reasons}\n${passed} passed, ${failed} failed\n`);
const nothingSkipped = skipped === 0 || !(env.FAIRLEAD_REQUIRE ?? "").split(",").includes("all");
if (!nothingSkipped) process.stderr.write("this run allows no test to be skipped\n");
process.exitCode = run.status === 0 && failed === 0 && nothingSkipped ? 0 : 1;

/**
 * @param {string} program
 * @param {() => void | Promise<void>} get
 */
async function bring(program, get) {
  try {
    await get();
  } catch (error) {
    process.stderr.write(`${error.message}\nTests that need ${program} are skipped.\n`);
  }
}
