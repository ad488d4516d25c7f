/** `fairlead down`: removes what dead owners left on the host; what is alive is not touched. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { createLogger, FairleadError } from "../lib/index.ts";
import { livingOwners, removeLeftovers } from "../standalone/index.ts";
import type { Io } from "./command.ts";
import { defaultDataDir } from "./up/data-dir.ts";
import { giveDataToUser } from "./up/data-owner.ts";

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("down")
    .summary("Remove what a killed `up` or `run` left behind")
    .description(
      "Removes namespaces, devices and processes whose owner is gone. Data and everything that was applied stay.",
    )
    .option("--data <dir>", "data folder (default: fairlead in the user's data folder)")
    .addHelpText("after", "\nExample:\n  sudo fairlead down --data /tmp/mesh\n")
    .action(async (flags: { readonly data?: string }) => {
      const dir = flags.data ?? defaultDataDir(io.env);
      if (!existsSync(dir))
        throw new FairleadError("not-found", `${dir} does not exist`, { hint: "name the data folder with --data DIR" });
      const log = createLogger({ write: (line) => io.err(`${line}\n`), now: () => new Date() });
      const removed = await removeLeftovers(join(dir, "run"), log);
      io.out(`${removed} leftovers removed\n`);
      giveDataToUser(dir, io.env);
      const alive = livingOwners(join(dir, "run"));
      if (alive.length > 0)
        io.err(`still running: process ${alive.map((owner) => owner.pid).join(", ")}; stop it with Ctrl-C or kill\n`);
      exit(alive.length > 0 ? 1 : 0);
    });
}
