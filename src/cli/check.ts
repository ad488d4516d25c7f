/** `fairlead check`: this machine or the mesh on it in; what is well and what is not, in the manner of linkerd check, out. */
import { join } from "node:path";
import { type Command, Option } from "commander";
import { preflight } from "../../scripts/preflight/checks.mjs";
import type { Finding } from "../../scripts/preflight/finding.mjs";
import { createMachine } from "../../scripts/preflight/machine.mjs";
import { formatFindings, missingCommand } from "../../scripts/preflight/report.mjs";
import { checkMesh } from "./check/mesh.ts";
import type { Io } from "./command.ts";
import { meshDataDir } from "./mesh-data-dir.ts";
import { printYaml } from "./print.ts";

interface CheckFlags {
  readonly pre?: boolean;
  readonly data?: string;
  readonly test?: boolean;
  readonly output: "short" | "json" | "yaml";
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("check")
    .summary("Ask whether the standalone mesh is well, or this machine has what one needs")
    .description(
      "Without flags: the API, the control plane and the agents of a running `fairlead up`, by their figures.\n" +
        "With --pre, before one is started:\n" +
        "Checks programs, rights, disk space and ports, changes nothing, and says how to get what is missing.\n" +
        "`npm start`, `npm test` and `fairlead up --demo` ask the same before they do anything.",
    )
    .option("--pre", "before a mesh is started: the machine")
    .option("--data <dir>", "data folder of the running `fairlead up`")
    .option("--test", "also what the tests need")
    .addOption(new Option("-o, --output <format>", "how to print").choices(["short", "json", "yaml"]).default("short"))
    .addHelpText("after", "\nExamples:\n  fairlead check\n  fairlead check --pre\n")
    .action(async (flags: CheckFlags) => exit(await check(flags, io)));
}

async function check(flags: CheckFlags, io: Io): Promise<number> {
  if (!flags.pre && !flags.test) return show(await checkMesh(meshDataDir(flags, io)), undefined, flags, io);
  const machine = createMachine(io.env);
  const root = join(import.meta.dirname, "..");
  const findings = await preflight(machine, { purpose: flags.test ? "test" : "demo", root });
  return show(findings, missingCommand(machine, findings), flags, io);
}

function show(findings: readonly Finding[], command: string | undefined, flags: CheckFlags, io: Io): number {
  if (flags.output === "json") io.out(`${JSON.stringify(findings, null, 2)}\n`);
  else if (flags.output === "yaml") io.out(printYaml(findings));
  else io.out(formatFindings(findings, command));
  return findings.some(({ state }) => state === "error") ? 1 : 0;
}
