// `npm run incremental -- --steps 10000 --seed N`: random lives of a mesh, each step compared with a fresh start.
import { join } from "node:path";
import { runNode } from "./run-node.mjs";
import { ensureAll, root, withLock } from "./setup.mjs";

await withLock(ensureAll);
const env = { ...process.env, NODE_NO_WARNINGS: "1" };
process.exitCode = await runNode([join(root, "test/incremental/run.ts"), ...process.argv.slice(2)], env);
