// `npm run vhds -- --steps 200 --seed N --envoys 2`: virtual hosts one by one to real Envoys under traffic; prints counts.
import { join } from "node:path";
import { ensureEnvoy } from "./envoy.mjs";
import { runNode } from "./run-node.mjs";
import { ensureAll, nodeBin, root, withLock } from "./setup.mjs";

await withLock(ensureAll);
const env = { ...process.env, FAIRLEAD_ENVOY: ensureEnvoy(nodeBin()), NODE_NO_WARNINGS: "1" };
process.exitCode = await runNode([join(root, "test/vhds/main.ts"), ...process.argv.slice(2)], env);
