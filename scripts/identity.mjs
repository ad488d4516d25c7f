// `npm run identity`: brings what is missing and rotates certificates and roots of a mesh under load. Needs root, iptables and Envoy.
import { join } from "node:path";
import { ensureEnvoy } from "./envoy.mjs";
import { runNode } from "./run-node.mjs";
import { ensureAll, nodeBin, root, withLock } from "./setup.mjs";

await withLock(ensureAll);
const env = { ...process.env, FAIRLEAD_ENVOY: ensureEnvoy(nodeBin()), NODE_NO_WARNINGS: "1" };
process.exitCode = await runNode([join(root, "test/identity/main.ts"), ...process.argv.slice(2)], env);
