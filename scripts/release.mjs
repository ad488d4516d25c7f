// `npm run release -- --tag vVERSION`: builds the image from that tag alone, runs the image's tests and those of every hole
// of the past on it, and writes its provenance. `-- --verify FILE PROVENANCE` compares what was downloaded with that.
import { join } from "node:path";
import { runNode } from "./run-node.mjs";
import { ensureAll, root, withLock } from "./setup.mjs";

await withLock(ensureAll);
const env = { ...process.env, NODE_NO_WARNINGS: "1" };
process.exitCode = await runNode([join(root, "scripts/release/main.ts"), ...process.argv.slice(2)], env);
