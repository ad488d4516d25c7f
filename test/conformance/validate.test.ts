/** Judges every recorded object as istioctl and as an API server do and compares; the figures may only rise. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { acceptObject, type CelRules, formatIssue, loadCel, validateConfig } from "../../src/config/index.ts";
import { isRecord, parseYaml } from "../../src/lib/index.ts";
import { kindOf } from "../../src/model/index.ts";
import { conformanceDir, lacks } from "../require.ts";

interface Expected {
  readonly kind: string;
  readonly apiVersion: string;
  readonly istioctl: { readonly ok: boolean; readonly errors?: readonly string[]; readonly stderr: string };
  readonly apiserver: { readonly ok: boolean; readonly error?: string };
}

interface Judged {
  readonly ok: boolean;
  readonly lines: readonly string[];
}

const cases = join(conformanceDir, "validate");
const floorFile = join(import.meta.dirname, "validate.json");
const known = ["apiVersion", "kind", "metadata", "spec", "status"];

const sorted = (lines: readonly string[]): string =>
  lines
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .sort()
    .join("\n");

/** What istioctl prints: warnings on top, errors below, each with the object's name; a message may have a list inside. */
function asIstioctl(object: Readonly<Record<string, unknown>>, expected: Expected, cel: CelRules): Judged {
  const kind = kindOf(expected.apiVersion, expected.kind);
  if (!kind || kind.encoding === "kubernetes") return { ok: true, lines: [] };
  const { readable, errors, warnings } = validateConfig(kind, object, { cel });
  const stray = Object.keys(object).filter((key) => !known.includes(key));
  const metadata = isRecord(object.metadata) ? object.metadata : {};
  const name = `${expected.kind}/${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
  const unread = readable ? "" : "cannot parse proto message: ";
  const messages = [...warnings, ...errors].map(({ message }) => `${unread}${message}`);
  const all = errors.length === 0 && stray.length > 0 ? stray.map((key) => `unknown field "${key}"`) : messages;
  const lines = all.flatMap((message) => `${name}: ${message}`.split(/\n\s*\* /));
  return { ok: errors.length === 0 && stray.length === 0, lines };
}

/** What `kubectl create --dry-run=server` prints. */
function asApiServer(object: Readonly<Record<string, unknown>>, expected: Expected, cel: CelRules): Judged {
  const kind = kindOf(expected.apiVersion, expected.kind);
  if (!kind) return { ok: false, lines: ["unknown kind"] };
  const { unknownFields, issues } = acceptObject(kind, object, { cel });
  const name = isRecord(object.metadata) ? object.metadata.name : "";
  if (unknownFields.length > 0) {
    const version = expected.apiVersion.split("/")[1];
    const fields = unknownFields.map((field) => `unknown field "${field}"`).join(", ");
    const where = `${expected.kind} in version "${version}" cannot be handled as a ${expected.kind}`;
    return {
      ok: false,
      lines: [
        `Error from server (BadRequest): error when creating "STDIN": ${where}: strict decoding error: ${fields}`,
      ],
    };
  }
  const head = `The ${expected.kind} "${name}" is invalid:`;
  const [first] = issues;
  if (!first) return { ok: true, lines: [] };
  const lines =
    issues.length === 1 ? [`${head} ${formatIssue(first)}`] : [head, ...issues.map((one) => `* ${formatIssue(one)}`)];
  return { ok: false, lines };
}

function expectedLines(expected: Expected["istioctl"]): readonly string[] {
  if (!expected.ok) return expected.errors ?? [];
  const [, ...warnings] = expected.stderr.split(/\n\s*\* /);
  return warnings;
}

interface Figure {
  readonly istioctlVerdicts: number;
  readonly istioctlMessages: number;
  readonly apiserverVerdicts: number;
  readonly apiserverMessages: number;
}

describe.skipIf(lacks("conformance"))("validate conformance", () => {
  let cel: CelRules;
  beforeAll(async () => {
    cel = await loadCel();
  });

  test("verdicts and messages equal to istioctl's and the API server's only rise", { timeout: 60_000 }, () => {
    const figure = { istioctlVerdicts: 0, istioctlMessages: 0, apiserverVerdicts: 0, apiserverMessages: 0 };
    const names = readdirSync(cases).filter((entry) => existsSync(join(cases, entry, "expected.json")));
    const differing: string[] = [];
    for (const name of names) {
      const expected: Expected = JSON.parse(readFileSync(join(cases, name, "expected.json"), "utf8"));
      const [object] = parseYaml(readFileSync(join(cases, name, "object.yaml"), "utf8"));
      if (!isRecord(object)) throw new Error(`${name} is no object`);
      const istioctl = asIstioctl(object, expected, cel);
      const apiserver = asApiServer(object, expected, cel);
      const wanted = {
        istioctl: sorted(expectedLines(expected.istioctl)),
        apiserver: sorted((expected.apiserver.error ?? "").split("\n")),
      };
      figure.istioctlVerdicts += Number(istioctl.ok === expected.istioctl.ok);
      figure.apiserverVerdicts += Number(apiserver.ok === expected.apiserver.ok);
      figure.istioctlMessages += Number(sorted(istioctl.lines) === wanted.istioctl);
      figure.apiserverMessages += Number(sorted(apiserver.lines) === wanted.apiserver);
      if (sorted(istioctl.lines) !== wanted.istioctl)
        differing.push(`${name} (istioctl)\n  want ${wanted.istioctl}\n  have ${sorted(istioctl.lines)}`);
      if (sorted(apiserver.lines) !== wanted.apiserver)
        differing.push(`${name} (apiserver)\n  want ${wanted.apiserver}\n  have ${sorted(apiserver.lines)}`);
    }
    const parts = Object.entries(figure).map(([what, count]) => `${what} ${count}`);
    console.log(`validate conformance, of ${names.length} cases equal: ${parts.join(", ")}`);
    if (process.env.FAIRLEAD_SHOW_DIFFERENCES) console.log(differing.join("\n"));
    const floor: Figure = JSON.parse(readFileSync(floorFile, "utf8"));
    if (process.env.FAIRLEAD_RAISE_FLOOR)
      writeFileSync(floorFile, `${JSON.stringify(raised(floor, figure), null, 2)}\n`);
    for (const [what, count] of Object.entries(floor))
      expect(figure, differing.join("\n")).toSatisfy((have: Record<string, number>) => (have[what] ?? 0) >= count);
  });
});

function raised(floor: Figure, figure: Figure): Figure {
  return {
    istioctlVerdicts: Math.max(floor.istioctlVerdicts, figure.istioctlVerdicts),
    istioctlMessages: Math.max(floor.istioctlMessages, figure.istioctlMessages),
    apiserverVerdicts: Math.max(floor.apiserverVerdicts, figure.apiserverVerdicts),
    apiserverMessages: Math.max(floor.apiserverMessages, figure.apiserverMessages),
  };
}
