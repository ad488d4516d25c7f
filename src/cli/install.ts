/** `fairlead install`: puts the control plane on a Kubernetes cluster. */
import type { Command } from "commander";
import type { Io } from "./command.ts";
import { applyOptions, type InstallFlags, install } from "./install/shared.ts";

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  applyOptions(program.command("install"))
    .summary("Install the control plane on a Kubernetes cluster")
    .option("--in-place", "put Fairlead in the place of the istiod that is there; its ConfigMaps go on to hold")
    .addHelpText(
      "after",
      "\nExamples:\n  fairlead install\n  fairlead install --profile demo --set global.logAsJson=true\n  fairlead install --revision canary\n",
    )
    .action(async (flags: InstallFlags) => exit(await install(flags, io, false)));
}
