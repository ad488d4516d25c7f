import { expect, test } from "vitest";
import { runCli } from "./testing.ts";

/** Names of a command's own commands, as its help lists them. */
const listed = (help: string): readonly string[] =>
  (/^Commands:\n((?: .*\n)+)/m.exec(help)?.[1] ?? "")
    .split("\n")
    .flatMap((line) => /^ {2}([a-z][\w-]*)/.exec(line)?.[1] ?? [])
    .filter((name) => name !== "help");

async function without(command: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await runCli([...command, "--help"]);
  const below: string[] = [];
  for (const name of listed(stdout)) below.push(...(await without([...command, name])));
  return command.length > 0 && !/^Examples?:$/m.test(stdout) ? [command.join(" "), ...below] : below;
}

test("every command shows in its help how it is called", async () => {
  expect(await without([])).toEqual([]);
});
