/** `fairlead admin log`: the scopes of the control plane's log with their levels, and other levels for them; istioctl's words. */
import type { Command } from "commander";
import { FairleadError, isLogLevel, isRecord, readText } from "../lib/index.ts";
import type { Io } from "./command.ts";
import { askControlZ, type DebugFlags } from "./debug-client.ts";
import { outputOption, parseOutput } from "./output.ts";
import { printTabs } from "./table.ts";

interface AdminLogFlags extends DebugFlags {
  readonly level?: string;
  readonly stackTraceLevel?: string;
  readonly reset?: boolean;
  readonly logReset?: boolean;
  readonly stackTraceReset?: boolean;
  readonly output: string;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  const admin = program
    .command("admin")
    .summary("Show and set the levels of the control plane's log")
    .addHelpText("after", "\nExample:\n  fairlead admin log --level ads:debug\n");
  admin
    .command("log")
    .alias("l")
    .summary("Show the scopes of the control plane's log and their levels, or set them")
    .option("--data <dir>", "data folder of the running `fairlead up`")
    .option("--address <addr>", "ControlZ of a control plane, such as a port-forward to 9876")
    .option("--level <scope:level,...>", "levels to set; none, error, warn, info or debug")
    .option("--stack-trace-level <scope:level,...>", "from which level on lines say where they came from")
    .option("--reset", "all levels back to info, and no stack traces")
    .option("--log-reset", "all levels back to info")
    .option("--stack-trace-reset", "no stack traces")
    .addOption(outputOption("short"))
    .addHelpText(
      "after",
      "\nExamples:\n  fairlead admin log\n  fairlead admin log --level ads:debug,kube:debug\n  fairlead admin log --reset\n",
    )
    .action(async (flags: AdminLogFlags) => exit(await log(flags, io)));
}

async function log(flags: AdminLogFlags, io: Io): Promise<number> {
  const sets = [
    ...parseLevels("--level", flags.level).map(([scope, level]) => [scope, { output_level: level }] as const),
    ...parseLevels("--stack-trace-level", flags.stackTraceLevel).map(
      ([scope, level]) => [scope, { stack_trace_level: level }] as const,
    ),
  ];
  const reset = {
    ...(flags.reset || flags.logReset ? { output_level: "info" } : {}),
    ...(flags.reset || flags.stackTraceReset ? { stack_trace_level: "none" } : {}),
  };
  const isReset = Object.keys(reset).length > 0;
  if (isReset && sets.length > 0) throw new FairleadError("usage", "a level cannot be set and reset at once");
  if (!isReset && sets.length === 0) {
    io.out(print(await readScopes(flags, io), flags.output));
    return 0;
  }
  const changes = isReset ? (await readScopes(flags, io)).map(({ name }) => [readText(name), reset] as const) : sets;
  for (const [scope, change] of changes) await askControlZ(flags, `scopej/${encodeURIComponent(scope)}`, io, change);
  return 0;
}

type Scope = Readonly<Record<string, unknown>>;

async function readScopes(flags: DebugFlags, io: Io): Promise<readonly Scope[]> {
  const answer = await askControlZ(flags, "scopej/", io);
  return Array.isArray(answer) ? answer.filter(isRecord) : [];
}

function parseLevels(flag: string, text = ""): readonly (readonly [string, string])[] {
  const pairs = text.split(",").filter((part) => part !== "");
  return pairs.map((pair) => {
    const [scope = "", level = ""] = pair.split(":");
    if (scope === "" || level === "fatal" || !isLogLevel(level))
      throw new FairleadError("usage", `${flag}: ${pair} is not a scope and its level`, {
        hint: "write it as ads:debug; levels are none, error, warn, info and debug",
      });
    return [scope, level];
  });
}

function print(scopes: readonly Scope[], output: AdminLogFlags["output"]): string {
  const rows = scopes.map((scope) => ({
    scope_name: readText(scope["name"]),
    log_level: readText(scope["output_level"]),
    stack_trace_level: readText(scope["stack_trace_level"]),
    description: readText(scope["description"]),
  }));
  const header = ["ACTIVE SCOPE", "DESCRIPTION", "LOG LEVEL", "STACK TRACE LEVEL"];
  const cells = rows.map((row) => [row.scope_name, row.description, row.log_level, row.stack_trace_level]);
  const names = (): readonly string[] => rows.map((row) => row.scope_name);
  return parseOutput(output, "short")({ plain: () => printTabs([header, ...cells], 3), data: () => rows, names });
}
