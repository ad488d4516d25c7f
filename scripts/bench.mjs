// `npm run bench`: what a fleet of simulated proxies costs the control plane (flags in bench/scale/main.ts), or, with the
// word `webhooks`, what admission costs (bench/webhooks/main.ts).
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ensureAll, nodeBin, root, withLock } from "./setup.mjs";

await withLock(ensureAll);
const program = process.argv[2] === "webhooks" ? "bench/webhooks/main.ts" : "bench/scale/main.ts";
const run = spawnSync(nodeBin(), [join(root, program), ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, NODE_NO_WARNINGS: "1" },
});
process.exitCode = run.status ?? 1;
