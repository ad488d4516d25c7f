// `ISTIOCTL=BINARY [ISTIOD=BINARY] npm run istioctl`: an unmodified istioctl on Fairlead, compared with what istiod answered.
import { join } from "node:path";
import { runNode } from "./run-node.mjs";
import { ensureAll, root, withLock } from "./setup.mjs";

await withLock(ensureAll);
const env = { ...process.env, NODE_NO_WARNINGS: "1" };
process.exitCode = await runNode([join(root, "test/istioctl/main.ts")], env);
