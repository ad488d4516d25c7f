/** `fairlead iptables`: capture rules with istio-iptables' flags. */
import type { Command } from "commander";
import { createRunCommand, formatCaptureRecord, readSurroundings, runCapture } from "../agent/index.ts";
import type { Io } from "./command.ts";

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("iptables")
    .summary("Set up the rules that capture a workload's traffic")
    .description("Takes istio-iptables' flags and environment; --dry-run prints the rules and changes nothing.")
    .helpOption("-h, --help", "show this help")
    .allowUnknownOption()
    .allowExcessArguments()
    .passThroughOptions()
    .argument("[flags...]", "istio-iptables' flags, such as -p 15001 -z 15006 -u 1337 -m REDIRECT -i '*' -b '*'")
    .addHelpText(
      "after",
      "\nExample:\n  fairlead iptables -p 15001 -z 15006 -u 1337 -m REDIRECT -i '*' -b '*' -d 15090,15021,15020 --dry-run\n",
    )
    .action(async (flags: readonly string[]) => {
      const output = {
        write: (level: "info" | "warn" | "error", message: string) =>
          io.out(formatCaptureRecord(new Date(), level, message)),
      };
      exit(
        await runCapture(flags, readSurroundings(io.env), output, (config) =>
          createRunCommand(config.networkNamespace),
        ),
      );
    });
}
