// `npm start`: the standalone mesh with the sample application. Arguments after `--` are passed on.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const fairlead = fileURLToPath(new URL("../fairlead", import.meta.url));
const child = spawn(fairlead, ["up", "--demo", ...process.argv.slice(2)], { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code) => {
  process.exitCode = code ?? 1;
});
