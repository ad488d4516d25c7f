// `npm run fuzz`: everything that reads outside input, with input that is almost good, longer than CI does. Prints its seed.
// Arguments: --seed, --runs (of each target), --target NAME, --first (to repeat one run).
import { join } from "node:path";
import { runNode } from "./run-node.mjs";
import { ensureAll, root, withLock } from "./setup.mjs";

await withLock(ensureAll);
const env = { ...process.env, NODE_NO_WARNINGS: "1" };
process.exitCode = await runNode([join(root, "test/fuzz/main.ts"), ...process.argv.slice(2)], env);
