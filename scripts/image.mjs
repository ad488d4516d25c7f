// `npm run image`: the one image of control plane and agent, without a builder: its root filesystem, the image as an OCI
// archive, and its bill of materials. Arguments: --out DIR, --root-only (for the Containerfile).
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ensureEnvoy } from "./envoy.mjs";
import { ensureAll, nodeBin, root, withLock } from "./setup.mjs";

await withLock(ensureAll);
const run = spawnSync(nodeBin(), [join(root, "scripts/image/main.ts"), ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, FAIRLEAD_ENVOY: ensureEnvoy(nodeBin()), NODE_NO_WARNINGS: "1" },
});
process.exitCode = run.status ?? 1;
