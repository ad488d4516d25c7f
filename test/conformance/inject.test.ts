/**
 * Injects every recorded file as `istioctl kube-inject` was told to and compares the objects that come out. Cases that
 * differ on purpose are named in inject.json with the reason; there may be no others.
 * While working: `FAIRLEAD_CASES=probe FAIRLEAD_DIFF=1 vitest run test/conformance/inject.test.ts`.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { runCli } from "../../src/cli/testing.ts";
import { isRecord, parseYaml } from "../../src/lib/index.ts";
import { conformanceDir, lacks } from "../require.ts";

interface Case {
  readonly settings: string;
  readonly rc: number;
  readonly stderr: string;
}

const corpus = join(conformanceDir, "inject");
const known: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(join(import.meta.dirname, "inject.json"), "utf8"),
);
const wanted = new RegExp(process.env.FAIRLEAD_CASES ?? ".");

describe.skipIf(lacks("conformance"))("inject conformance", () => {
  test("files come out as istioctl injects them", { timeout: 120_000 }, async () => {
    const names = readdirSync(corpus).filter(
      (name) => wanted.test(name) && existsSync(join(corpus, name, "case.json")),
    );
    const differing = new Map<string, string>();
    for (const name of names) {
      const difference = await compareCase(name);
      if (difference !== "") differing.set(name, difference);
    }
    console.log(`inject conformance: ${names.length - differing.size} of ${names.length} cases equal`);
    if (process.env.FAIRLEAD_DIFF) for (const [name, text] of differing) console.log(`${name}: ${text}`);
    expect(names.length).toBeGreaterThan(0);
    const unexpected = [...differing].filter(([name]) => !(name in known)).map(([name, text]) => `${name}: ${text}`);
    expect(unexpected.join("\n")).toBe("");
    const stale = Object.keys(known).filter((name) => names.includes(name) && !differing.has(name));
    expect(stale, "these are equal now and need no reason").toEqual([]);
  });

  test("what was injected is left as it is when injected again", { timeout: 120_000 }, async () => {
    const changed: string[] = [];
    for (const name of readdirSync(corpus).filter((entry) => entry.startsWith("own-"))) {
      const { rc, settings }: Case = JSON.parse(readFileSync(join(corpus, name, "case.json"), "utf8"));
      const file = join(corpus, name, "expected.yaml");
      if (rc !== 0) continue;
      const again = await inject(file, settings);
      if (again.stdout !== readFileSync(file, "utf8") && !sameObjects(readFileSync(file, "utf8"), again.stdout))
        changed.push(name);
    }
    expect(changed).toEqual([]);
  });
});

async function inject(file: string, settings: string): ReturnType<typeof runCli> {
  const folder = join(corpus, "_settings", settings);
  const { env }: { env: Record<string, string> } = JSON.parse(readFileSync(join(folder, "flags.json"), "utf8"));
  const args = ["-f", file, "--meshConfigFile", join(folder, "mesh.yaml"), "--valuesFile", join(folder, "values.json")];
  return runCli(["kube-inject", ...args], corpus, 60_000, env);
}

async function compareCase(name: string): Promise<string> {
  const { settings, rc, stderr }: Case = JSON.parse(readFileSync(join(corpus, name, "case.json"), "utf8"));
  const actual = await inject(join(corpus, name, "input.yaml"), settings);
  if (actual.status !== rc) return `exit ${actual.status} instead of ${rc}: ${actual.stderr}`;
  if (rc !== 0) {
    const annotation = /for annotation '([^']+)'/.exec(stderr)?.[1] ?? "";
    return actual.stderr.includes(annotation) ? "" : `${annotation} is not named in: ${actual.stderr}`;
  }
  if (actual.stderr !== stderr) return `stderr ${actual.stderr} instead of ${stderr}`;
  const expected = readFileSync(join(corpus, name, "expected.yaml"), "utf8");
  return sameObjects(expected, actual.stdout) ? "" : firstDifferences(expected, actual.stdout);
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

function firstDifferences(expected: string, actual: string): string {
  const [want, have] = [expected, actual].map((text) => paths(parseYaml(text).map(comparable)));
  const all = new Set([...(want?.keys() ?? []), ...(have?.keys() ?? [])]);
  const differing = [...all].filter((path) => want?.get(path) !== have?.get(path)).slice(0, 8);
  return differing.map((path) => `\n  ${path}: want ${want?.get(path)}, have ${have?.get(path)}`).join("");
}

function paths(value: unknown, path = "", out = new Map<string, string>()): ReadonlyMap<string, string> {
  if (typeof value !== "object" || value === null) out.set(path, JSON.stringify(value));
  else if (Object.keys(value).length === 0) out.set(path, JSON.stringify(value));
  else for (const [key, inner] of Object.entries(value)) paths(inner, `${path}.${key}`, out);
  return out;
}
