// `npm run gateway-api`: the Gateway API's own conformance suite against Fairlead on a real API without kubelets; this machine
// runs the Pods. Needs root, Envoy and kubectl; KUBECONFIG of a cluster that is there to be tried on, with the CRDs of the
// Gateway API; GATEWAY_SUITE and ECHO_BASIC, the suite's two programs. What follows `--` goes to the suite.
import { join } from "node:path";
import { ensureEnvoy } from "./envoy.mjs";
import { runNode } from "./run-node.mjs";
import { ensureAll, nodeBin, root, withLock } from "./setup.mjs";

await withLock(ensureAll);
const env = { ...process.env, FAIRLEAD_ENVOY: ensureEnvoy(nodeBin()), NODE_NO_WARNINGS: "1" };
process.exitCode = await runNode([join(root, "test/gateway-api/main.ts"), ...process.argv.slice(2)], env);
