/** `fairlead version`: which Fairlead this is, and which Istio it stands in for. */
import type { Command } from "commander";
import { fairleadVersion, istioVersion } from "../model/index.ts";
import type { Io } from "./command.ts";
import { outputChoices } from "./output-choices.ts";
import { versionLine } from "./version-line.ts";

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("version")
    .summary("Show the version")
    .addOption(outputChoices("table"))
    .addHelpText("after", "\nExamples:\n  fairlead version\n  fairlead version -o jsonpath={.istio}\n")
    .action(async (flags: { readonly output: string }) => {
      if (flags.output === "table") {
        io.out(`${versionLine()}\n`);
        return exit(0);
      }
      // Printers are most of the program; who asks for the version alone waits for none of them.
      const { parseOutput } = await import("./output.ts");
      const version = { fairlead: fairleadVersion, istio: istioVersion, node: process.versions.node };
      const forms = {
        plain: () => `${versionLine()}\n`,
        data: () => version,
        names: () => [`fairlead-${fairleadVersion}`],
      };
      io.out(parseOutput(flags.output, "table")(forms));
      exit(0);
    });
}
