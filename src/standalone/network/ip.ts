/** Arguments of `ip` in; what it prints out. A refusal becomes an error that says what is missing. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { FairleadError } from "../../lib/index.ts";

const run = promisify(execFile);

export async function ip(...args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run("ip", [...args], { maxBuffer: 16 * 1024 * 1024 });
    return stdout;
  } catch (cause) {
    const text = cause instanceof Error && "stderr" in cause ? String(cause.stderr).trim() : String(cause);
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT")
      throw new FairleadError("missing-tool", "the `ip` command is missing", { hint: "install iproute2", cause });
    if (/Operation not permitted|Permission denied/.test(text))
      throw new FairleadError("no-permission", `ip ${args.join(" ")}: ${text}`, {
        hint: "network namespaces need root: run the same command with sudo",
        cause,
      });
    throw new FairleadError("internal", `ip ${args.join(" ")}: ${text}`, { cause });
  }
}
