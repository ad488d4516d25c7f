// `npm run bench`: what a fleet of simulated proxies costs the control plane (flags in bench/scale/main.ts), or, with the
// word `webhooks`, what admission costs (bench/webhooks/main.ts), with `return`, how soon a killed one is back
// (bench/return/main.ts), with `departed`, what is kept of those who have gone (bench/departed.ts), with
// `csr`, what certificates cost (bench/csr/main.ts), with `page`, what a browser does to show the mesh (bench/page.ts), with `traffic`, what reports on requests cost (bench/traffic.ts),
// with `bad-input`, whether bad input over xDS costs no more than it may (bench/bad-input.ts).
import { ensureEnvoy } from "./envoy.mjs";
import { runNode } from "./run-node.mjs";
import { ensureAll, nodeBin, withLock } from "./setup.mjs";

await withLock(ensureAll);
const word = process.argv[2] ?? "";
const programs = {
  webhooks: ["bench/webhooks/main.ts", ...process.argv.slice(2)],
  return: ["bench/return/main.ts", ...process.argv.slice(2)],
  page: ["bench/page.ts", ...process.argv.slice(3)],
  csr: ["bench/csr/main.ts", ...process.argv.slice(2)],
  traffic: ["bench/traffic.ts", ...process.argv.slice(3)],
  "bad-input": ["bench/bad-input.ts", ...process.argv.slice(3)],
  departed: ["--expose-gc", "bench/departed.ts", ...process.argv.slice(3)],
};
const program = Object.hasOwn(programs, word) ? programs[word] : ["bench/scale/main.ts", ...process.argv.slice(2)];
const envoy = word === "return" ? { FAIRLEAD_ENVOY: ensureEnvoy(nodeBin()) } : {};
process.exitCode = await runNode(program, { ...process.env, ...envoy, NODE_NO_WARNINGS: "1" });
