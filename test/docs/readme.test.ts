/** What the README prints for files of this repository works as it is printed. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../../src/cli/testing.ts";

const root = join(import.meta.dirname, "../..");
const lines = readFileSync(join(root, "README.md"), "utf8").split("\n");
const commands = lines.filter((line) => /^\.\/fairlead (render|why|diff|test) .*demo\//.test(line));

test("the README has an example of each way to ask about files", () => {
  expect(commands.map((line) => line.split(" ")[1])).toEqual(["render", "why", "diff", "test"]);
});

test.each(commands)("%s", async (line) => {
  const words = line.split(" ").slice(1);
  const { status, stdout, stderr } = await runCli(
    words.map((word) => (/^demo\//.test(word) ? join(root, word) : word)),
  );
  expect([status, stderr.replaceAll(/^note: .*\n/gm, "")]).toEqual([0, ""]);
  expect(stdout).not.toBe("");
});
