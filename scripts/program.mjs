// `node scripts/program.mjs [--envoy] FILE [ARGUMENT...]`: a program of this project, by its own Node, once what it needs is
// there. Most of package.json's run by it; what each does, takes and needs is said at the head of its file.
import { join } from "node:path";
import { ensureEnvoy } from "./envoy.mjs";
import { runNode } from "./run-node.mjs";
import { ensureAll, nodeBin, root, withLock } from "./setup.mjs";

const given = process.argv.slice(2);
const [file = "", ...args] = given[0] === "--envoy" ? given.slice(1) : given;
await withLock(ensureAll);
const envoy = given[0] === "--envoy" ? { FAIRLEAD_ENVOY: ensureEnvoy(nodeBin()) } : {};
process.exitCode = await runNode([join(root, file), ...args], { ...process.env, ...envoy, NODE_NO_WARNINGS: "1" });
