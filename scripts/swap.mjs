// `npm run swap`: from istiod to Fairlead and back under live traffic on a real API, in place and by revision, with figures.
// Needs root, iptables, Envoy and kubectl; KUBECONFIG of a cluster that is there to be tried on, ISTIOD (the program) and
// ISTIO_MANIFEST (what `istioctl manifest generate` prints); with PILOT_AGENT (the program) and ISTIO_BOOTSTRAP (its template
// of Envoy's bootstrap) every other proxy runs under that.
import { join } from "node:path";
import { ensureEnvoy } from "./envoy.mjs";
import { runNode } from "./run-node.mjs";
import { ensureAll, nodeBin, root, withLock } from "./setup.mjs";

await withLock(ensureAll);
const env = { ...process.env, FAIRLEAD_ENVOY: ensureEnvoy(nodeBin()), NODE_NO_WARNINGS: "1" };
process.exitCode = await runNode([join(root, "test/swap/main.ts")], env);
