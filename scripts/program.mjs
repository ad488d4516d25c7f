// `node scripts/program.mjs [--envoy] FILE [ARGUMENT...]`: a program of the tests, by our own Node, once what it needs is there.
// All the long ones of package.json run by it; what each does and takes is said at the head of its file.
import { join } from "node:path";
import { ensureEnvoy } from "./envoy.mjs";
import { runNode } from "./run-node.mjs";
import { ensureAll, nodeBin, root, withLock } from "./setup.mjs";

const given = process.argv.slice(2);
const [file = "", ...args] = given[0] === "--envoy" ? given.slice(1) : given;
await withLock(ensureAll);
const envoy = given[0] === "--envoy" ? { FAIRLEAD_ENVOY: ensureEnvoy(nodeBin()) } : {};
process.exitCode = await runNode([join(root, file), ...args], { ...process.env, ...envoy, NODE_NO_WARNINGS: "1" });
