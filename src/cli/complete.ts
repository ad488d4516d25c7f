/** `fairlead __complete`: asked by the scripts of `completion`; a word on each line. It never fails: a key was pressed. */
import type { Command } from "commander";
import type { CommandEntry, Io, Register } from "./command.ts";
import { liveNames } from "./completion/names.ts";
import { completeWords } from "./completion/words.ts";

export const completeCommand = (commands: readonly CommandEntry[]): Register =>
  function register(program: Command, io: Io, exit: (status: number) => void): void {
    program
      .command("__complete", { hidden: true })
      .argument("[words...]")
      .action(async (words: readonly string[]) => {
        const wanted = commands.find(({ name, aliases }) => name === words[0] || aliases?.includes(words[0] ?? ""));
        const found = await completeWords(await programWith(program, wanted, io), words, (question) =>
          liveNames(question, io).catch(() => []),
        );
        for (const word of found) io.out(`${word}\n`);
        exit(0);
      });
  };

/** The command that is being typed with its flags; the others are known by name. */
async function programWith(program: Command, wanted: CommandEntry | undefined, io: Io): Promise<Command> {
  if (!wanted) return program;
  const { register: add } = await wanted.load();
  const whole = program.createCommand(program.name());
  add(whole, io, () => {});
  return whole;
}
