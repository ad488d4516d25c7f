// `npm run incremental -- --steps 10000 --seed N`: random lives of a mesh, each step compared with a fresh start.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ensureAll, nodeBin, root, withLock } from "./setup.mjs";

await withLock(ensureAll);
const run = spawnSync(nodeBin(), [join(root, "test/incremental/run.ts"), ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, NODE_NO_WARNINGS: "1" },
});
process.exitCode = run.status ?? 1;
