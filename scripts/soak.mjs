// `npm run soak`: a mesh under changes and traffic for hours, and what it holds of the machine meanwhile; with
// --policies the whole policy suite, of which the tests take a tenth. Needs root, iptables and Envoy.
import { join } from "node:path";
import { ensureEnvoy } from "./envoy.mjs";
import { runNode } from "./run-node.mjs";
import { ensureAll, nodeBin, root, withLock } from "./setup.mjs";

await withLock(ensureAll);
const env = { ...process.env, FAIRLEAD_ENVOY: ensureEnvoy(nodeBin()), NODE_NO_WARNINGS: "1" };
const given = process.argv.slice(2);
const [args, more] = given.includes("--policies")
  ? [[join(root, "node_modules/vitest/vitest.mjs"), "run", "test/policy"], { FAIRLEAD_SOAK: "1" }]
  : [[join(root, "test/soak/main.ts"), ...given], {}];
process.exitCode = await runNode(args, { ...env, ...more });
