// A script's arguments and environment in; the status that it ended with out. Who ends us ends it: it has things to clean up.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { endTogether } from "./end-together.mjs";
import { nodeBin, root } from "./setup.mjs";

/**
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<number>}
 */
export async function runNode(args, env) {
  const child = spawn(nodeBin(), args, { cwd: root, stdio: "inherit", env });
  endTogether(child);
  const [status] = await once(child, "exit");
  return status ?? 1;
}
