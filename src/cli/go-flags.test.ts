import { Command } from "commander";
import { expect, test } from "vitest";
import { goFlags } from "./go-flags.ts";

const program = new Command();
program
  .command("show")
  .option("--verbose", "", true)
  .option("--no-verbose")
  .option("--quiet")
  .option("-o, --output <format>");

test.each([
  [
    ["show", "--verbose=false"],
    ["show", "--no-verbose"],
  ],
  [
    ["show", "--verbose=true"],
    ["show", "--verbose"],
  ],
  [["show", "--quiet=false"], ["show"]],
  [
    ["show", "--quiet=1", "pod"],
    ["show", "--quiet", "pod"],
  ],
  [
    ["show", "-o=json"],
    ["show", "-o", "json"],
  ],
  // Not booleans of ours, or somebody else's command line.
  [
    ["show", "--output=true"],
    ["show", "--output=true"],
  ],
  [
    ["show", "--other=false"],
    ["show", "--other=false"],
  ],
  [
    ["show", "--", "--verbose=false"],
    ["show", "--", "--verbose=false"],
  ],
])("%j becomes %j", (given, expected) => {
  expect(goFlags(program, given)).toEqual(expected);
});
