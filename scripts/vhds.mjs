// `npm run vhds -- --steps 200 --seed N --envoys 2`: virtual hosts one by one to real Envoys under traffic; prints counts.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ensureEnvoy } from "./envoy.mjs";
import { ensureAll, nodeBin, root, withLock } from "./setup.mjs";

await withLock(ensureAll);
const run = spawnSync(nodeBin(), [join(root, "test/vhds/main.ts"), ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, FAIRLEAD_ENVOY: ensureEnvoy(nodeBin()), NODE_NO_WARNINGS: "1" },
});
process.exitCode = run.status ?? 1;
