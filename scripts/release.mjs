// `npm run release -- --tag vVERSION`: builds the image from that tag alone, runs the image's tests and those of every hole
// of the past on it, and writes its provenance. `-- --verify FILE PROVENANCE` compares what was downloaded with that.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ensureAll, nodeBin, root, withLock } from "./setup.mjs";

await withLock(ensureAll);
const run = spawnSync(nodeBin(), [join(root, "scripts/release/main.ts"), ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, NODE_NO_WARNINGS: "1" },
});
process.exitCode = run.status ?? 1;
