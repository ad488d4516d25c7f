// `npm run bench`: what a fleet of simulated proxies costs the control plane (flags in bench/scale/main.ts), or, with the
// word `webhooks`, what admission costs (bench/webhooks/main.ts), with `return`, how soon a killed one is back
// (bench/return/main.ts).
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ensureEnvoy } from "./envoy.mjs";
import { ensureAll, nodeBin, root, withLock } from "./setup.mjs";

await withLock(ensureAll);
const word = process.argv[2] ?? "";
const program = join("bench", ["webhooks", "return"].includes(word) ? word : "scale", "main.ts");
const envoy = word === "return" ? { FAIRLEAD_ENVOY: ensureEnvoy(nodeBin()) } : {};
const run = spawnSync(nodeBin(), [join(root, program), ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, ...envoy, NODE_NO_WARNINGS: "1" },
});
process.exitCode = run.status ?? 1;
