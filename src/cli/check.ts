/** `fairlead check --pre`: this machine in; what it has and lacks for a mesh, in the manner of linkerd check, out. */
import { join } from "node:path";
import { type Command, Option } from "commander";
import { preflight } from "../../scripts/preflight/checks.mjs";
import { createMachine } from "../../scripts/preflight/machine.mjs";
import { formatFindings, missingCommand } from "../../scripts/preflight/report.mjs";
import { FairleadError } from "../lib/index.ts";
import type { Io } from "./command.ts";
import { printYaml } from "./print.ts";

interface CheckFlags {
  readonly pre?: boolean;
  readonly test?: boolean;
  readonly output: "short" | "json" | "yaml";
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("check")
    .summary("Ask whether this machine has what a mesh needs")
    .description(
      "Checks programs, rights, disk space and ports, changes nothing, and says how to get what is missing.\n" +
        "`npm start`, `npm test` and `fairlead up --demo` ask the same before they do anything.",
    )
    .option("--pre", "before a mesh is started: the machine")
    .option("--test", "also what the tests need")
    .addOption(new Option("-o, --output <format>", "how to print").choices(["short", "json", "yaml"]).default("short"))
    .addHelpText("after", "\nExample:\n  fairlead check --pre\n")
    .action(async (flags: CheckFlags) => exit(await check(flags, io)));
}

async function check(flags: CheckFlags, io: Io): Promise<number> {
  if (!flags.pre)
    throw new FairleadError("usage", "only the machine can be checked yet", { hint: "write `fairlead check --pre`" });
  const machine = createMachine(io.env);
  const root = join(import.meta.dirname, "..");
  const findings = await preflight(machine, { purpose: flags.test ? "test" : "demo", root });
  if (flags.output === "json") io.out(`${JSON.stringify(findings, null, 2)}\n`);
  else if (flags.output === "yaml") io.out(printYaml(findings));
  else io.out(formatFindings(findings, missingCommand(machine, findings)));
  return findings.some(({ state }) => state === "error") ? 1 : 0;
}
