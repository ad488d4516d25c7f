/** Analyses every recorded case and compares its messages with istioctl's; the figure may only rise. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { type AnalyzeOptions, analyze, type CelRules, decodeMeshConfig, loadCel } from "../../src/config/index.ts";
import { isRecord, parseYaml, readRecord, readText } from "../../src/lib/index.ts";
import { conformanceDir, lacks } from "../require.ts";

interface Message {
  readonly code: string;
  readonly level: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly message: string;
}

interface Figure {
  readonly casesEqual: number;
  readonly messagesEqual: number;
}

const cases = join(conformanceDir, "analyze");
const floorFile = join(import.meta.dirname, "analyze.json");

/** What every cluster has before a case's own objects. */
const clusterBase: readonly unknown[] = [
  ...["default", "kube-system", "kube-public", "kube-node-lease"].map((name) => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name },
  })),
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "kubernetes", namespace: "default" },
    spec: { ports: [{ name: "https", port: 443, targetPort: 6443, protocol: "TCP" }] },
  },
];

const read = (file: string): readonly unknown[] => parseYaml(readFileSync(file, "utf8"));

function filesBelow(dir: string): readonly string[] {
  return readdirSync(dir, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(ya?ml|json)$/.test(name))
    .sort()
    .map((name) => join(dir, name));
}

function optionsOf(dir: string, args: readonly string[], cel: CelRules): AnalyzeOptions {
  const after = (flag: string): readonly string[] =>
    args.flatMap((arg, i) =>
      arg === flag ? (args[i + 1] ?? "") : arg.startsWith(`${flag}=`) ? arg.slice(flag.length + 1) : [],
    );
  const meshFile = after("--meshConfigFile")[0];
  const mesh = meshFile === undefined ? undefined : decodeMeshConfig(readFileSync(join(dir, meshFile), "utf8")).ok;
  const threshold = after("--output-threshold")[0];
  return {
    cel,
    now: new Date("2026-08-20T00:00:00Z"),
    only: after("--analyzer"),
    suppress: after("-S"),
    ...(mesh ? { mesh } : {}),
    ...(threshold === "Error" || threshold === "Warning" || threshold === "Info" ? { threshold } : {}),
  };
}

function analyzeCase(dir: string, cel: CelRules): readonly Message[] {
  const args = readFileSync(join(dir, "args.txt"), "utf8")
    .split("\n")
    .filter((line) => line !== "");
  const files = existsSync(join(dir, "input")) ? filesBelow(join(dir, "input")).flatMap(read) : [];
  const options = optionsOf(dir, args, cel);
  if (!args.includes("--use-kube=true")) return analyze({ files }, options);
  const own = existsSync(join(dir, "cluster/objects.yaml")) ? read(join(dir, "cluster/objects.yaml")) : [];
  // An API server drops the status of what is created.
  const stored = own.map((object) => (isRecord(object) ? { ...object, status: undefined } : object));
  const named = new Set(
    [...own, ...files]
      .filter(isRecord)
      .map((object) => `${readText(object.kind)} ${readText(readRecord(object.metadata).name)}`),
  );
  const messages = analyze({ files, cluster: [...stored, ...clusterBase] }, options);
  return messages.filter(({ kind, name }) => named.has(`${kind} ${name}`) || kind !== "Namespace");
}

const keyOf = ({ code, level, kind, namespace, name, message }: Message): string =>
  JSON.stringify([code, level, kind, namespace, name, message]);

/** How many of the one list are in the other, each counted once. */
function common(a: readonly string[], b: readonly string[]): number {
  const left = [...b];
  return a.filter((key) => {
    const at = left.indexOf(key);
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  }).length;
}

describe.skipIf(lacks("conformance"))("analyze conformance", () => {
  let cel: CelRules;
  beforeAll(async () => {
    cel = await loadCel();
  });

  test("messages equal to istioctl's only rise", { timeout: 120_000 }, () => {
    const names = readdirSync(cases).filter((entry) => existsSync(join(cases, entry, "expected.json")));
    let [casesEqual, messagesEqual, total] = [0, 0, 0];
    const differing: string[] = [];
    for (const name of names) {
      const expected: { messages: readonly Message[]; unstable?: boolean } = JSON.parse(
        readFileSync(join(cases, name, "expected.json"), "utf8"),
      );
      const key = (message: Message): string => (expected.unstable ? message.code : keyOf(message));
      const want = expected.messages.map(key);
      const have = analyzeCase(join(cases, name), cel).map(key);
      const shared = common(want, have);
      total += want.length;
      messagesEqual += shared;
      if (shared === want.length && shared === have.length) casesEqual++;
      else differing.push(describeDifference(name, want, have));
    }
    console.log(
      `analyze conformance: ${casesEqual} of ${names.length} cases, ${messagesEqual} of ${total} messages equal`,
    );
    if (process.env.FAIRLEAD_SHOW_DIFFERENCES) console.log(differing.join("\n"));
    const floor: Figure = JSON.parse(readFileSync(floorFile, "utf8"));
    if (process.env.FAIRLEAD_RAISE_FLOOR && casesEqual >= floor.casesEqual)
      writeFileSync(floorFile, `${JSON.stringify({ casesEqual, messagesEqual }, null, 2)}\n`);
    expect(casesEqual, differing.join("\n")).toBeGreaterThanOrEqual(floor.casesEqual);
    expect(messagesEqual).toBeGreaterThanOrEqual(floor.messagesEqual);
  });
});

function describeDifference(name: string, want: readonly string[], have: readonly string[]): string {
  const missing = without(want, have).map((line) => `  - ${line}`);
  const extra = without(have, want).map((line) => `  + ${line}`);
  return [name, ...missing, ...extra].join("\n");
}

function without(a: readonly string[], b: readonly string[]): readonly string[] {
  const left = [...b];
  return a.filter((key) => {
    const at = left.indexOf(key);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}
