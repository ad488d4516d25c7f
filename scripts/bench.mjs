// `npm run bench`: what a fleet of simulated proxies costs the control plane. See bench/scale/main.ts for the flags.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ensureAll, nodeBin, root, withLock } from "./setup.mjs";

await withLock(ensureAll);
const run = spawnSync(nodeBin(), [join(root, "bench/scale/main.ts"), ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, NODE_NO_WARNINGS: "1" },
});
process.exitCode = run.status ?? 1;
