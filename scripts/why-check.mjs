// `npm run why-check -- --seed N --rounds N --requests N`: random requests on real Envoys, each compared with what `why` says.
import { join } from "node:path";
import { runNode } from "./run-node.mjs";
import { ensureAll, root, withLock } from "./setup.mjs";

await withLock(ensureAll);
const env = { ...process.env, NODE_NO_WARNINGS: "1" };
process.exitCode = await runNode([join(root, "test/why/main.ts"), ...process.argv.slice(2)], env);
