/** How this very program is started again: the runtime, its flags, and the bundle; and where that lies. */
import { dirname } from "node:path";

export function selfCommand(): readonly string[] {
  const [node = process.execPath, script = ""] = process.argv;
  return [node, ...process.execArgv, script];
}

/** Folder of the bundle: the script that was started. */
export const bundleDir = (): string => dirname(process.argv[1] ?? ".");
