/** `fairlead uninstall`: takes the control plane from a Kubernetes cluster. */
import type { Command } from "commander";
import { completeValues } from "../install/index.ts";
import { FairleadError } from "../lib/index.ts";
import type { InstallAccessFlags } from "./cluster-access.ts";
import type { Io } from "./command.ts";
import { removeInstallation } from "./install/remove.ts";
import { accessOptions, withClient } from "./install/shared.ts";

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  accessOptions(program.command("uninstall"))
    .summary("Remove the control plane from a Kubernetes cluster")
    .option("-r, --revision <name>", "the revision to remove")
    .option("--purge", "every revision, and the resource definitions with all Istio objects")
    .option("-y, --skip-confirmation", "do as told; without it, --purge is refused")
    .addHelpText("after", "\nExamples:\n  fairlead uninstall --revision canary\n  fairlead uninstall --purge -y\n")
    .action(async (flags: UninstallFlags) => exit(await uninstall(flags, io)));
}

interface UninstallFlags extends InstallAccessFlags {
  readonly revision?: string;
  readonly purge?: boolean;
  readonly skipConfirmation?: boolean;
}

async function uninstall(flags: UninstallFlags, io: Io): Promise<number> {
  // Empty as well: a variable of a script that was never set must not mean every revision.
  if (flags.purge !== true && !flags.revision)
    throw new FairleadError("usage", "say what to remove: --revision NAME, or --purge for everything");
  if (flags.purge === true && flags.skipConfirmation !== true)
    throw new FairleadError("usage", "--purge removes every Istio object of the cluster", {
      hint: "say -y if that is meant",
    });
  if (flags.revision !== undefined) completeValues("default", [{ revision: flags.revision }]);
  return withClient(flags, io, async (client) => {
    const removed = await removeInstallation({
      client,
      revision: flags.purge === true ? undefined : flags.revision,
      purge: flags.purge === true,
      say: (text) => io.err(`${text}\n`),
    });
    if (removed === 0) io.err("there was nothing to remove\n");
    return 0;
  });
}
