// `npm run check`: the one door of all checks. `--static` leaves out the tests.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ensureAll, nodeBin, root, withLock } from "./setup.mjs";

await withLock(ensureAll);
const bin = (name) => join(root, "node_modules/.bin", name);
const env = { ...process.env, PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH}` };
const checks = [
  ["format and lint", bin("biome"), ["check", "--error-on-warnings", "."]],
  ["types", bin("tsc"), ["--noEmit"]],
  ["types of the page", bin("tsc"), ["--noEmit", "-p", join(root, "src/dashboard/page")]],
  ["import table", nodeBin(), [join(root, "scripts/check-imports.mjs")]],
  ["dead code", nodeBin(), [join(root, "node_modules/knip/bin/knip.js")]],
];
if (!process.argv.includes("--static")) checks.push(["tests", nodeBin(), [join(root, "scripts/test.mjs")]]);
let failed = 0;
for (const [name, command, args] of checks) {
  const started = Date.now();
  const result = spawnSync(command, args, { cwd: root, stdio: "inherit", env });
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  process.stderr.write(`${result.status === 0 ? "ok  " : "FAIL"} ${name} (${seconds} s)\n`);
  if (result.status !== 0) failed++;
}
process.exitCode = failed === 0 ? 0 : 1;
