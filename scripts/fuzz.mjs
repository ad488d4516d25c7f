// `npm run fuzz`: everything that reads outside input, with input that is almost good, longer than CI does. Prints its seed.
// Arguments: --seed, --runs (of each target), --target NAME, --first (to repeat one run).
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ensureAll, nodeBin, root, withLock } from "./setup.mjs";

await withLock(ensureAll);
const run = spawnSync(nodeBin(), [join(root, "test/fuzz/main.ts"), ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, NODE_NO_WARNINGS: "1" },
});
process.exitCode = run.status ?? 1;
