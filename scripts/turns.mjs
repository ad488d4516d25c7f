// `npm run turns -- [PATTERN]`: how long requests at the bounds of what is taken hold the event loop.
import { join } from "node:path";
import { runNode } from "./run-node.mjs";
import { ensureAll, root, withLock } from "./setup.mjs";

await withLock(ensureAll);
const env = { ...process.env, NODE_NO_WARNINGS: "1" };
process.exitCode = await runNode([join(root, "test/turns/main.ts"), ...process.argv.slice(2)], env);
