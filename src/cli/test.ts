/** `fairlead test`: expectations kept beside the YAML in; which hold, and what none of them touches, out. */
import { writeFile } from "node:fs/promises";
import { relative, resolve } from "node:path";
import type { Command } from "commander";
import { printable } from "../lib/index.ts";
import type { Profile } from "../model/index.ts";
import type { Io } from "./command.ts";
import { outputOption, parseOutput } from "./output.ts";
import { profileOption } from "./profile-option.ts";
import { junitXml } from "./test/junit.ts";
import { runTests, type TestRun } from "./test/run.ts";
import { loadTestFiles } from "./test/test-file.ts";

interface TestFlags {
  readonly junit?: string;
  readonly coverage: boolean;
  readonly failUntouched: boolean;
  readonly profile: Profile;
  readonly output: string;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("test")
    .summary("Check expectations about requests that are kept beside the YAML")
    .description(
      "Each test is a request and what should become of it. It is followed through the configuration that the proxies\n" +
        "would be sent, as `fairlead why` does; nothing is sent, and no cluster is needed.",
    )
    .argument("<files...>", "files with a list `tests`, or folders that have such files")
    .option("--junit <file>", "also write the outcome as JUnit XML")
    .option("--no-coverage", "do not tell what no test touched")
    .option("--fail-untouched", "fail where a route, rule or policy is touched by no test", false)
    .addOption(profileOption("which filters the Envoys have"))
    .addOption(outputOption("text"))
    .addHelpText(
      "after",
      "\nEnds with status 0 if every test holds, 1 if one does not.\ndocs/test.md has the form of the files.\n\nExamples:\n" +
        "  fairlead test k8s/\n" +
        "  fairlead test k8s/tests/shop.yaml --junit report.xml\n",
    )
    .action(async (files: readonly string[], flags: TestFlags) => exit(await test(files, flags, io)));
}

async function test(paths: readonly string[], flags: TestFlags, io: Io): Promise<number> {
  const files = await loadTestFiles(paths.map((path) => resolve(io.cwd, path)));
  const run = await runTests(files, flags.profile, () => performance.now());
  if (flags.junit !== undefined) await writeFile(resolve(io.cwd, flags.junit), junitXml(run.outcomes));
  const forms = {
    plain: () => textOf(run, flags, io),
    data: () => run,
    names: () => run.outcomes.filter(({ failures }) => failures.length > 0).map(({ name }) => name),
  };
  io.out(parseOutput(flags.output, "text")(forms));
  const { outcomes, coverage } = run;
  const failed = outcomes.some(({ failures }) => failures.length > 0);
  return failed || (flags.failUntouched && coverage.untouched.length > 0) ? 1 : 0;
}

function textOf({ outcomes, coverage }: TestRun, flags: TestFlags, io: Io): string {
  const lines = [...Map.groupBy(outcomes, ({ file }) => file)].flatMap(([file, list]) => [
    relative(io.cwd, file),
    ...list.flatMap(({ name, failures }) => [
      `  ${failures.length === 0 ? "ok  " : "FAIL"} ${name}`,
      ...failures.map((line) => `         ${line}`),
    ]),
  ]);
  const { all, untouched } = coverage;
  if (flags.coverage && all > 0) {
    lines.push("", `${all - untouched.length} of ${all} routes, rules and policies are touched by a test`);
    for (const { object, field } of untouched)
      lines.push(`  none: ${object.replace("/", " ")}${field === undefined ? "" : `, ${field}`}`);
  }
  const failed = outcomes.filter(({ failures }) => failures.length > 0).length;
  lines.push("", `${outcomes.length - failed} passed, ${failed} failed`);
  return `${lines.map(printable).join("\n")}\n`;
}
