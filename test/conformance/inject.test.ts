/** Injects every recorded file as `istioctl kube-inject` was told to and compares; what differs is listed in inject.json. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { runCli } from "../../src/cli/testing.ts";
import { isRecord, parseYaml } from "../../src/lib/index.ts";
import { recordedCases } from "./corpus.ts";
import { expectKnownDifferences } from "./differences.ts";

interface Case {
  readonly settings: string;
  readonly rc: number;
  readonly stderr: string;
}

test("files come out as istioctl injects them, but for known differences", { timeout: 300_000 }, async () => {
  const seen = new Map<string, readonly string[]>();
  for (const { name, dir } of recordedCases("inject", "case.json")) seen.set(name, await compareCase(dir));
  expectKnownDifferences("inject", seen);
});

test("what was injected is left as it is when it is injected again", { timeout: 300_000 }, async () => {
  const changed: string[] = [];
  for (const { name, dir } of recordedCases("inject", "case.json")) {
    const { rc, settings } = readCase(dir);
    // Cases from elsewhere have ports that are named twice, which no cluster takes.
    if (rc !== 0 || !name.startsWith("own-")) continue;
    const again = await inject(dir, "expected.yaml", settings);
    if (!sameObjects(readFileSync(join(dir, "expected.yaml"), "utf8"), again.stdout)) changed.push(name);
  }
  expect(changed).toEqual([]);
});

const readCase = (dir: string): Case => JSON.parse(readFileSync(join(dir, "case.json"), "utf8"));

async function inject(dir: string, file: string, settings: string): ReturnType<typeof runCli> {
  const folder = join(dir, "../_settings", settings);
  const { env }: { env: Record<string, string> } = JSON.parse(readFileSync(join(folder, "flags.json"), "utf8"));
  const args = [
    "-f",
    join(dir, file),
    "--meshConfigFile",
    join(folder, "mesh.yaml"),
    "--valuesFile",
    join(folder, "values.json"),
  ];
  return runCli(["kube-inject", ...args], dir, 60_000, env);
}

async function compareCase(dir: string): Promise<readonly string[]> {
  const { settings, rc, stderr } = readCase(dir);
  const actual = await inject(dir, "input.yaml", settings);
  if (actual.status !== rc) return [`exit ${actual.status} instead of ${rc}: ${actual.stderr}`];
  if (rc !== 0) {
    const annotation = /for annotation '([^']+)'/.exec(stderr)?.[1] ?? "";
    return actual.stderr.includes(annotation) ? [] : [`${annotation} is not named in: ${actual.stderr}`];
  }
  if (actual.stderr !== stderr) return [`stderr ${actual.stderr} instead of ${stderr}`];
  const expected = readFileSync(join(dir, "expected.yaml"), "utf8");
  return sameObjects(expected, actual.stdout) ? [] : differences(expected, actual.stdout);
}

const sameObjects = (expected: string, actual: string): boolean =>
  isDeepStrictEqual(parseYaml(actual).map(comparable), parseYaml(expected).map(comparable));

/** The status annotation is JSON in a text, whose order of members says nothing. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === "sidecar.istio.io/status" && typeof inner === "string" ? JSON.parse(inner) : comparable(inner),
    ]),
  );
}

function differences(expected: string, actual: string): readonly string[] {
  const [want, have] = [expected, actual].map((text) => paths(parseYaml(text).map(comparable)));
  const all = new Set([...(want?.keys() ?? []), ...(have?.keys() ?? [])]);
  const differing = [...all].filter((path) => want?.get(path) !== have?.get(path));
  return differing.map((path) => `${path}: want ${want?.get(path)}, have ${have?.get(path)}`);
}

function paths(value: unknown, path = "", out = new Map<string, string>()): ReadonlyMap<string, string> {
  if (typeof value !== "object" || value === null) out.set(path, JSON.stringify(value));
  else if (Object.keys(value).length === 0) out.set(path, JSON.stringify(value));
  else for (const [key, inner] of Object.entries(value)) paths(inner, `${path}.${key}`, out);
  return out;
}
