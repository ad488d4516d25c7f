// `npm run screenshots`: pictures of the demo's page for the documentation (test/dashboard/screenshots.ts).
import { ensureEnvoy } from "./envoy.mjs";
import { runNode } from "./run-node.mjs";
import { ensureAll, nodeBin, withLock } from "./setup.mjs";

await withLock(ensureAll);
const env = { ...process.env, FAIRLEAD_ENVOY: ensureEnvoy(nodeBin()), NODE_NO_WARNINGS: "1" };
process.exitCode = await runNode(["test/dashboard/screenshots.ts"], env);
