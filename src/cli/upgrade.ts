/** `fairlead upgrade`: brings an installation to this version, with the values that it was made of. */
import type { Command } from "commander";
import type { Io } from "./command.ts";
import { applyOptions, type InstallFlags, install } from "./install/shared.ts";

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  applyOptions(program.command("upgrade"))
    .summary("Bring an installation to this version, with the values that it has")
    .addHelpText("after", "\nExample:\n  fairlead upgrade --set pilot.autoscaleMax=10\n")
    .action(async (flags: InstallFlags) => exit(await install(flags, io, true)));
}
