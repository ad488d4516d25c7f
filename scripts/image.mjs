// `npm run image`: the one image of control plane and agent, without a builder: its root filesystem, the image as an OCI
// archive, and its bill of materials. Arguments: --out DIR, --root-only (for the Containerfile).
import { join } from "node:path";
import { ensureEnvoy } from "./envoy.mjs";
import { runNode } from "./run-node.mjs";
import { ensureAll, nodeBin, root, withLock } from "./setup.mjs";

await withLock(ensureAll);
const env = { ...process.env, FAIRLEAD_ENVOY: ensureEnvoy(nodeBin()), NODE_NO_WARNINGS: "1" };
process.exitCode = await runNode([join(root, "scripts/image/main.ts"), ...process.argv.slice(2)], env);
