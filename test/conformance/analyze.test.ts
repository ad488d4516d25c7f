/** Analyses every recorded case and compares its messages with istioctl's; what differs is listed in analyze.json. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, test } from "vitest";
import {
  type AnalyzeOptions,
  analyze,
  decodeMeshConfig,
  loadCel,
  type ValidateOptions,
} from "../../src/config/index.ts";
import { isRecord, parseYaml, readRecord, readText } from "../../src/lib/index.ts";
import { loadPatchChecker } from "../../src/render/index.ts";
import { recordedCases } from "./corpus.ts";
import { expectKnownDifferences } from "./differences.ts";

interface Message {
  readonly code: string;
  readonly level: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly message: string;
}

type Checks = Required<ValidateOptions>;

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

function optionsOf(dir: string, args: readonly string[], checks: Checks): AnalyzeOptions {
  const after = (flag: string): readonly string[] =>
    args.flatMap((arg, i) =>
      arg === flag ? (args[i + 1] ?? "") : arg.startsWith(`${flag}=`) ? arg.slice(flag.length + 1) : [],
    );
  const meshFile = after("--meshConfigFile")[0];
  const mesh = meshFile === undefined ? undefined : decodeMeshConfig(readFileSync(join(dir, meshFile), "utf8")).ok;
  const threshold = after("--output-threshold")[0];
  return {
    ...checks,
    now: new Date("2026-08-20T00:00:00Z"),
    only: after("--analyzer"),
    suppress: after("-S"),
    ...(mesh ? { mesh } : {}),
    ...(threshold === "Error" || threshold === "Warning" || threshold === "Info" ? { threshold } : {}),
  };
}

function analyzeCase(dir: string, checks: Checks): readonly Message[] {
  const args = readFileSync(join(dir, "args.txt"), "utf8")
    .split("\n")
    .filter((line) => line !== "");
  const files = existsSync(join(dir, "input")) ? filesBelow(join(dir, "input")).flatMap(read) : [];
  const options = optionsOf(dir, args, checks);
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

let checks: Checks;
beforeAll(async () => {
  checks = { cel: await loadCel(), patches: await loadPatchChecker() };
});

test("messages equal istioctl's, but for known differences", { timeout: 300_000 }, () => {
  const seen = recordedCases("analyze", "expected.json").map(({ name, dir }) => [name, differencesOf(dir)] as const);
  expectKnownDifferences("analyze", new Map(seen));
});

function differencesOf(dir: string): readonly string[] {
  const expected: { messages: readonly Message[]; unstable?: boolean } = JSON.parse(
    readFileSync(join(dir, "expected.json"), "utf8"),
  );
  const key = (message: Message): string => (expected.unstable ? message.code : keyOf(message));
  const [want, have] = [expected.messages.map(key), analyzeCase(dir, checks).map(key)];
  return [
    ...without(want, have).map((line) => `missing ${line}`),
    ...without(have, want).map((line) => `extra ${line}`),
  ];
}

/** Those of the one list that are not in the other, each counted once. */
function without(a: readonly string[], b: readonly string[]): readonly string[] {
  const left = [...b];
  return a.filter((key) => {
    const at = left.indexOf(key);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}
