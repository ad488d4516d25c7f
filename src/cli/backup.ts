/** `fairlead backup`: everything that the standalone mesh's API holds, to one file. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { backUp } from "../apiserver/index.ts";
import { FairleadError } from "../lib/index.ts";
import type { Io } from "./command.ts";
import { defaultDataDir, openDataDir, ownerOfDir } from "./up/data-dir.ts";

interface BackupFlags {
  readonly data?: string;
  readonly salvage?: boolean;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("backup <file>")
    .summary("Save all that a standalone mesh holds to one file, also while it runs")
    .description(
      "Writes objects, Secrets and the API's own keys as they are at one moment to a file that only you can read. Keep it as you would keep the keys.",
    )
    .option("--data <dir>", "data folder (default: fairlead in the user's data folder)")
    .option("--salvage", "take what can be read of a damaged store; what was deleted last may come back")
    .addHelpText(
      "after",
      "\nExample:\n  fairlead backup mesh.backup\n  fairlead restore mesh.backup --data /tmp/copy\n",
    )
    .action(async (file: string, flags: BackupFlags) => {
      const dir = flags.data ?? defaultDataDir(io.env);
      // To look whether it is in use would make it.
      if (!existsSync(dir))
        throw new FairleadError("not-found", `there is no mesh in ${dir}`, {
          hint: "name the data folder with --data DIR",
        });
      const { objects, version } = await backUp({
        apiDir: join(dir, "api"),
        file,
        now: new Date(),
        // The API may go on without the `up` that started it.
        inUse: isInUse(dir, io) || ownerOfDir(join(dir, "api")) !== undefined,
        salvage: flags.salvage === true,
      });
      io.out(`${objects} objects at version ${version} saved to ${file}\n`);
      exit(0);
    });
}

function isInUse(dir: string, io: Io): boolean {
  try {
    openDataDir(dir, io.env).unlock();
    return false;
  } catch (error) {
    if (error instanceof FairleadError && error.code === "locked") return true;
    throw error;
  }
}
