/** Arguments in, an exit status out: 0 done, 1 the answer is no, 2 wrong usage; `analyze` has two more. */
import { Command, CommanderError, type OutputConfiguration } from "commander";
import { printable } from "../lib/index.ts";
import type { CommandEntry, Io } from "./command.ts";
import { commands } from "./commands.ts";
import { goFlags } from "./go-flags.ts";
import { tellError } from "./tell-error.ts";
import { versionLine } from "./version-line.ts";

/** Those that people call, and what the shells' scripts ask. */
const entries: readonly CommandEntry[] = [
  ...commands,
  {
    name: "__complete",
    summary: "",
    hidden: true,
    load: async () => ({ register: (await import("./complete.ts")).completeCommand(commands) }),
  },
];

export async function runProgram(args: readonly string[], given: Io): Promise<number> {
  const io: Io = { ...given, err: (text) => given.err(plainMessage(text)) };
  let status = 0;
  const program = new Command("fairlead")
    .description("A service mesh control plane: Istio's API, stock Envoy, no cluster needed to start.")
    .version(versionLine(), "-V, --version", "print the version")
    .exitOverride()
    .configureOutput(outputOf(io))
    .configureHelp(helpForm)
    .showSuggestionAfterError()
    .enablePositionalOptions();
  const wanted = findCommand(args[0] === "help" ? args[1] : args[0]);
  for (const entry of entries) {
    if (entry === wanted) {
      const { register } = await entry.load();
      register(program, io, (code) => {
        status = code;
      });
    } else
      program
        .command(entry.name, { hidden: entry.hidden === true })
        .aliases([...(entry.aliases ?? [])])
        .summary(entry.summary)
        .allowUnknownOption();
  }
  inheritSettings(program, io);
  try {
    if (args.length === 0) {
      program.outputHelp();
      return 0;
    }
    await program.parseAsync([...goFlags(program, args)], { from: "user" });
    return status;
  } catch (thrown) {
    return report(thrown, io);
  }
}

/** Lines and the redrawn line of progress are ours; whatever else a terminal would act on came with a name. */
const clearLine = "\r\u001b[K";

const plainMessage = (text: string): string =>
  text
    .split(clearLine)
    .map((part) =>
      part
        .split(/([\n\t])/)
        .map((piece, i) => (i % 2 === 1 ? piece : printable(piece)))
        .join(""),
    )
    .join(clearLine);

function findCommand(name: string | undefined): CommandEntry | undefined {
  return entries.find((entry) => entry.name === name || entry.aliases?.includes(name ?? ""));
}

/** Descriptions of options wrap also where half a screen is left for them. */
const helpForm = { minWidthToWrap: 10 };

function outputOf(io: Io): OutputConfiguration {
  const width = (): number => Number(io.env["COLUMNS"]) || process.stdout.columns || 80;
  return {
    writeOut: (text) => io.out(text),
    writeErr: (text) => io.err(text),
    getOutHelpWidth: width,
    getErrHelpWidth: width,
  };
}

/** Sub-commands are made by `register` and do not know how the program writes and exits. */
function inheritSettings(command: Command, io: Io): void {
  for (const child of command.commands) {
    child.exitOverride().configureOutput(outputOf(io)).configureHelp(helpForm);
    inheritSettings(child, io);
  }
}

/** As a shell counts an end by SIGINT. */
const interrupted = 130;

function report(thrown: unknown, io: Io): number {
  // Whatever failed because it was told to stop did not fail.
  if (io.signal.aborted) {
    io.err("fairlead: stopped before it was done\n");
    return interrupted;
  }
  // Commander has already written its own message; help and version are no errors.
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2;
  return tellError(thrown, io).code === "usage" ? 2 : 1;
}
