/** Judges every recorded object as istioctl and as an API server do; what differs is listed in validate.json. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, test } from "vitest";
import { acceptObject, formatIssue, loadCel, type ValidateOptions, validateConfig } from "../../src/config/index.ts";
import { isRecord, parseYaml } from "../../src/lib/index.ts";
import { kindOf } from "../../src/model/index.ts";
import { loadPatchChecker } from "../../src/render/index.ts";
import { recordedCases } from "./corpus.ts";
import { expectKnownDifferences } from "./differences.ts";

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

type Checks = Required<ValidateOptions>;

const known = ["apiVersion", "kind", "metadata", "spec", "status"];

const sorted = (lines: readonly string[]): string =>
  lines
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .sort()
    .join("\n");

/** What istioctl prints: warnings on top, errors below, each with the object's name; a message may have a list inside. */
function asIstioctl(object: Readonly<Record<string, unknown>>, expected: Expected, checks: Checks): Judged {
  const kind = kindOf(expected.apiVersion, expected.kind);
  if (!kind || kind.encoding === "kubernetes") return { ok: true, lines: [] };
  const { readable, errors, warnings } = validateConfig(kind, object, checks);
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
function asApiServer(object: Readonly<Record<string, unknown>>, expected: Expected, checks: Checks): Judged {
  const kind = kindOf(expected.apiVersion, expected.kind);
  if (!kind) return { ok: false, lines: ["unknown kind"] };
  const { unknownFields, issues } = acceptObject(kind, object, checks);
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

let checks: Checks;
beforeAll(async () => {
  checks = { cel: await loadCel(), patches: await loadPatchChecker() };
});

test("verdicts and messages equal istioctl's and the API server's, but for known differences", {
  timeout: 300_000,
}, () => {
  const seen = recordedCases("validate", "expected.json").map(({ name, dir }) => [name, differencesOf(dir)] as const);
  expectKnownDifferences("validate", new Map(seen));
});

function differencesOf(dir: string): readonly string[] {
  const expected: Expected = JSON.parse(readFileSync(join(dir, "expected.json"), "utf8"));
  const [object] = parseYaml(readFileSync(join(dir, "object.yaml"), "utf8"));
  if (!isRecord(object)) throw new Error(`${dir} has no object`);
  const istioctl = asIstioctl(object, expected, checks);
  const apiserver = asApiServer(object, expected, checks);
  return [
    ...differing("istioctl", istioctl, expected.istioctl.ok, expectedLines(expected.istioctl)),
    ...differing("apiserver", apiserver, expected.apiserver.ok, (expected.apiserver.error ?? "").split("\n")),
  ];
}

function differing(judge: string, have: Judged, ok: boolean, lines: readonly string[]): readonly string[] {
  const [wanted, said] = [sorted(lines), sorted(have.lines)];
  return [
    ...(have.ok === ok ? [] : [`${judge}: ${have.ok ? "accepted" : "refused"}`]),
    ...(wanted === said ? [] : [`${judge}: says ${JSON.stringify(said)} instead of ${JSON.stringify(wanted)}`]),
  ];
}
