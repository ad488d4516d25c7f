// `KUBECONFIG=… npm run test:cluster [PATH…]`: the suite that otherwise runs on the embedded API, on that cluster.
// FAIRLEAD_TEST_HOST is the address at which its API server reaches webhooks on this machine (127.0.0.1).
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { root } from "./setup.mjs";

const kubeconfig = process.env.KUBECONFIG;
if (!kubeconfig || !existsSync(kubeconfig)) {
  process.stderr.write("test:cluster: set KUBECONFIG to the kubeconfig of the cluster to test on\n");
  process.exit(2);
}
const suite = ["test/cluster", "test/kube/election", "test/kube/object-source"];
const args = process.argv.slice(2);
const [given, flags] = [args.filter((arg) => !arg.startsWith("-")), args.filter((arg) => arg.startsWith("-"))];
const run = spawnSync(
  process.execPath,
  [join(root, "scripts/test.mjs"), ...(given.length > 0 ? given : suite), "--no-file-parallelism", ...flags],
  { cwd: root, stdio: "inherit", env: { ...process.env, FAIRLEAD_CLUSTER: resolve(kubeconfig) } },
);
process.exitCode = run.status ?? 1;
