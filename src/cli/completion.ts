/** `fairlead completion`: a shell in; the script that completes commands, flags and the names of live objects out. */
import type { Command } from "commander";
import type { Io } from "./command.ts";
import { completionScripts, type Shell, shells } from "./completion/scripts.ts";

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  const parent = program
    .command("completion")
    .summary("Print what a shell needs to complete commands, flags and names of objects")
    .addHelpText(
      "after",
      "\nExamples:\n  source <(fairlead completion bash)\n  fairlead completion zsh > ~/.zsh/completions/_fairlead\n  fairlead completion fish | source\n",
    );
  const add = (shell: Shell): void => {
    parent
      .command(shell)
      .summary(`The script for ${shell}`)
      .addHelpText("after", `\nExample:\n  fairlead completion ${shell}\n`)
      .action(() => {
        io.out(completionScripts[shell]);
        exit(0);
      });
  };
  shells.forEach(add);
}
