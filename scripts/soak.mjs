// `npm run soak`: 1,000 flips, endpoint churn and an outage of the control plane under constant traffic, then the whole
// policy suite, with figures.
// Needs root, iptables and Envoy. Arguments: flips, seconds of churn and of outage.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ensureEnvoy } from "./envoy.mjs";
import { ensureAll, nodeBin, root, withLock } from "./setup.mjs";

await withLock(ensureAll);
const env = { ...process.env, FAIRLEAD_ENVOY: ensureEnvoy(nodeBin()), NODE_NO_WARNINGS: "1" };
const run = spawnSync(nodeBin(), [join(root, "test/traffic/soak.ts"), ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
  env,
});
// Everything that CI takes a tenth of.
const policies = spawnSync(nodeBin(), [join(root, "node_modules/vitest/vitest.mjs"), "run", "test/policy"], {
  cwd: root,
  stdio: "inherit",
  env: { ...env, FAIRLEAD_SOAK: "1" },
});
process.exitCode = run.status || policies.status || (run.signal || policies.signal ? 1 : 0);
