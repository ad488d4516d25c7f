/** Runs every recorded command line of istioctl and compares what it prints; what differs is listed in cli.json. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { test } from "vitest";
import { runCli } from "../../src/cli/testing.ts";
import { fileLimits, parseJson, parseYaml } from "../../src/lib/index.ts";
import { recordedCases } from "./corpus.ts";
import { expectKnownDifferences } from "./differences.ts";

test("command lines are answered as istioctl answers, but for known differences", { timeout: 300_000 }, async () => {
  const seen = new Map<string, readonly string[]>();
  for (const { name, dir } of recordedCases("cli", "args.txt")) seen.set(name, await compareCase(dir));
  expectKnownDifferences("cli", seen);
});

async function compareCase(dir: string): Promise<readonly string[]> {
  const [, ...args] = readFileSync(join(dir, "args.txt"), "utf8").trimEnd().split("\n");
  const expected: { rc: number; stderr: string } = JSON.parse(readFileSync(join(dir, "exit.json"), "utf8"));
  const stdout = readFileSync(join(dir, "stdout.txt"), "utf8");
  const actual = await runCli(args, dir);
  if (actual.status !== expected.rc) return [`exit ${actual.status} instead of ${expected.rc}: ${actual.stderr}`];
  if (actual.stderr !== expected.stderr) return [`stderr ${actual.stderr} instead of ${expected.stderr}`];
  return sameOutput(stdout, actual.stdout, formatOf(args)) ? [] : [`stdout\n${actual.stdout}\ninstead of\n${stdout}`];
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
