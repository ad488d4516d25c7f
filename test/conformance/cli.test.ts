/**
 * Runs every recorded command line of istioctl and compares what it prints; the figure may only rise.
 * While working: `FAIRLEAD_CASES=listener FAIRLEAD_DIFF=1 vitest run test/conformance/cli.test.ts` runs the cases whose
 * names match and prints the differences. FAIRLEAD_RAISE_FLOOR=1 writes the figure down.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { runCli } from "../../src/cli/testing.ts";
import { fileLimits, parseJson, parseYaml } from "../../src/lib/index.ts";
import { conformanceDir, lacks } from "../require.ts";

const corpus = join(conformanceDir, "cli");
const floorFile = join(import.meta.dirname, "cli.json");
const wanted = new RegExp(process.env.FAIRLEAD_CASES ?? ".");

describe.skipIf(lacks("conformance"))("cli conformance", () => {
  test("command lines answered as istioctl answers only rise", { timeout: 120_000 }, async () => {
    const cases = readdirSync(corpus).filter((name) => wanted.test(name) && existsSync(join(corpus, name, "args.txt")));
    const failures: string[] = [];
    for (const name of cases) {
      const difference = await compareCase(join(corpus, name));
      if (difference !== "") failures.push(`${name}: ${difference}`);
    }
    const equal = cases.length - failures.length;
    console.log(`cli conformance: ${equal} of ${cases.length} cases equal`);
    if (process.env.FAIRLEAD_DIFF) console.log(failures.join("\n"));
    expect(cases.length).toBeGreaterThan(0);
    if (process.env.FAIRLEAD_CASES) return;
    const floor: { equal: number } = JSON.parse(readFileSync(floorFile, "utf8"));
    if (process.env.FAIRLEAD_RAISE_FLOOR && equal > floor.equal)
      writeFileSync(floorFile, `${JSON.stringify({ equal }, null, 2)}\n`);
    expect(equal, failures.join("\n")).toBeGreaterThanOrEqual(floor.equal);
  });
});

async function compareCase(dir: string): Promise<string> {
  const [, ...args] = readFileSync(join(dir, "args.txt"), "utf8").trimEnd().split("\n");
  const expected: { rc: number; stderr: string } = JSON.parse(readFileSync(join(dir, "exit.json"), "utf8"));
  const stdout = readFileSync(join(dir, "stdout.txt"), "utf8");
  const actual = await runCli(args, dir);
  if (actual.status !== expected.rc) return `exit ${actual.status} instead of ${expected.rc}: ${actual.stderr}`;
  if (actual.stderr !== expected.stderr) return `stderr ${actual.stderr} instead of ${expected.stderr}`;
  return sameOutput(stdout, actual.stdout, formatOf(args)) ? "" : `stdout\n${actual.stdout}\ninstead of\n${stdout}`;
}

function formatOf(args: readonly string[]): string {
  const at = args.indexOf("-o");
  if (at >= 0) return args[at + 1] ?? "";
  return args[1] === "bootstrap" ? "json" : "short";
}

/** Tables byte for byte, data by its structure. */
function sameOutput(expected: string, actual: string, format: string): boolean {
  if (expected === "" || actual === "") return expected === actual;
  if (format === "json") return isDeepStrictEqual(parseJson(actual, fileLimits), parseJson(expected, fileLimits));
  if (format === "yaml") return isDeepStrictEqual(parseYaml(actual), parseYaml(expected));
  return expected === actual;
}
