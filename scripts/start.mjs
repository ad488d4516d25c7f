// `npm start`: the standalone mesh with the sample application. Arguments after `--` are passed on.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { endTogether } from "./end-together.mjs";

const fairlead = fileURLToPath(new URL("../fairlead", import.meta.url));
const child = spawn(fairlead, ["up", "--demo", ...process.argv.slice(2)], { stdio: "inherit" });
endTogether(child);
child.on("exit", (code) => {
  process.exitCode = code ?? 1;
});
