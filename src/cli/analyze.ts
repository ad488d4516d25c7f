/** `fairlead analyze`: files and the objects of an API in; everything that is suspicious about them out, as istioctl says it. */
import { readFile } from "node:fs/promises";
import { type Command, Option } from "commander";
import {
  type AnalysisLevel,
  type AnalyzeOptions,
  analyserNames,
  analyze,
  decode,
  decodeMeshConfig,
  decodeMeshNetworks,
  loadCel,
} from "../config/index.ts";
import { createKubeClient } from "../kube/index.ts";
import { FairleadError, isRecord, parseDurationMs } from "../lib/index.ts";
import { type KubeObject, kindOf } from "../model/index.ts";
import { listAnalysers } from "./analyze/analysers.ts";
import { clusterObjects, meshTexts } from "./analyze/cluster.ts";
import { type FileObject, fileObjectName, type ReadFiles, readFiles } from "./analyze/files.ts";
import { fixLines } from "./analyze/fixes.ts";
import {
  documentation,
  formatMessages,
  istioctlFormats,
  type LocatedMessage,
  messageData,
  originOf,
} from "./analyze/output.ts";
import { patchCheckerFor } from "./check-patches.ts";
import { clusterAccess } from "./cluster-access.ts";
import { collect, type Io } from "./command.ts";
import { outputOption, parseOutput } from "./output.ts";

interface AnalyzeFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly istioNamespace: string;
  readonly allNamespaces?: boolean;
  readonly listAnalyzers?: boolean;
  readonly useKube: boolean;
  readonly suppress: readonly string[];
  readonly analyzer: readonly string[];
  readonly failureThreshold: AnalysisLevel;
  readonly outputThreshold: AnalysisLevel;
  readonly output: string;
  readonly meshConfigFile?: string;
  readonly recursive?: boolean;
  readonly ignoreUnknown?: boolean;
  readonly revision: string;
  readonly timeout: string;
  readonly remoteContexts: readonly string[];
  readonly color?: boolean;
  readonly verbose?: boolean;
}

/** As istioctl ends: something was found at the threshold; some of the input could not be read. */
const exits = { found: 79, unreadable: 65 } as const;

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("analyze")
    .summary("Look for mistakes in Istio objects of files and of a cluster")
    .description(
      `Analyzes Istio configuration and prints messages. Their codes are explained at\n${documentation}\n\nEnds with status 79 if something was found (format log only), 65 if a file could not be read.`,
    )
    .argument("[file...]", "files and folders with YAML or JSON, taken as if applied; - is standard input")
    .option("--kubeconfig <file>", "how to reach the API")
    .option("--context <name>", "context of the kubeconfig")
    .option("-n, --namespace <namespace>", "namespace to look at")
    .option("-i, --istioNamespace <namespace>", "where the control plane is", "istio-system")
    .option("-A, --all-namespaces", "look at all namespaces")
    .option("-L, --list-analyzers", "list the analyzers instead of running them")
    .option("-k, --use-kube", "look at the objects of the API too", true)
    .option("--no-use-kube", "look at files only")
    .option("-S, --suppress <code=object>", "leave out a code for an object: IST0102=Namespace shop/*", collect, [])
    .option("--analyzer <name>", "run only this one; may be repeated", collect, [])
    .addOption(levelOption("--failure-threshold <level>", "from which level on to fail", "Error"))
    .addOption(levelOption("--output-threshold <level>", "from which level on to print", "Info"))
    .addOption(outputOption("log"))
    .option("--meshConfigFile <file>", "mesh config to use instead of the cluster's")
    .option("-R, --recursive", "has no effect: folders always are")
    .option("--ignore-unknown", "do not fail because of documents that cannot be read")
    .option("-r, --revision <revision>", "revision of the control plane", "default")
    .option("--timeout <duration>", "how long to wait for the API", "30s")
    .option("--remote-contexts <name>", "contexts of further clusters; not looked at yet", collect, [])
    .option("--color", "colour the levels")
    .option("--no-color", "do not")
    .option("-v, --verbose", "say what was looked at")
    .addHelpText(
      "after",
      "\nExamples:\n  fairlead analyze -A\n  fairlead analyze --use-kube=false k8s/\n  fairlead analyze -S 'IST0103=Pod testing/*' -o json\n",
    )
    .action(async (files: readonly string[], flags: AnalyzeFlags) => exit(await run(files, flags, io)));
}

function levelOption(flags: string, help: string, fallback: AnalysisLevel): Option {
  const levels: readonly AnalysisLevel[] = ["Info", "Warning", "Error"];
  return new Option(flags, `${help} (Info, Warning, Error)`).default(fallback).argParser((text) => {
    const level = levels.find((name) => name.toLowerCase() === text.toLowerCase());
    if (!level) throw new FairleadError("usage", `${text} is not a level; there are ${levels.join(", ")}`);
    return level;
  });
}

async function run(paths: readonly string[], flags: AnalyzeFlags, io: Io): Promise<number> {
  if (flags.listAnalyzers) {
    io.out(listAnalysers(analyserNames));
    return 0;
  }
  for (const text of flags.suppress)
    if (!/^[^=]+=[^=]+$/.test(text)) throw new FairleadError("usage", `${text} is not a valid suppression value`);
  const read = await readFiles(paths, io);
  const cluster = flags.useKube ? await readCluster(flags, io) : undefined;
  const namespace = flags.allNamespaces ? "" : (flags.namespace ?? cluster?.namespace ?? "default");
  const target = namespace === "" ? "all namespaces" : `namespace: ${namespace}`;
  const files = read.objects.map((object) => ({ ...object, raw: inNamespace(object.raw, namespace) }));
  const faults = [...read.faults, ...files.flatMap((object) => unreadable(object, io))];
  if (faults.length > 0) io.err(`Error(s) adding files: ${faults.join("\n")}\n`);
  const sources = { files: files.map(({ raw }) => raw), cluster: cluster?.objects };
  const checker = await patchCheckerFor([...sources.files, ...(sources.cluster ?? [])]);
  const options = { ...(await analyzeOptions(flags, namespace, cluster)), ...checker };
  const all = locate(analyze(sources, options), files);
  const shown = all.filter(({ level }) => ranks[level] >= ranks[flags.outputThreshold]);
  if (flags.verbose) io.err(`Analyzed resources in ${target}\n`);
  const color = flags.color !== false && io.tty && io.env.TERM !== "dumb" && !io.env.NO_COLOR;
  const istioctls = istioctlFormats.find((one) => one === flags.output);
  const forms = {
    plain: () => `${formatMessages(shown, "log", color)}\n`,
    data: () => messageData(shown),
    names: () => [...new Set(shown.map(originOf))],
  };
  io.out(istioctls ? `${formatMessages(shown, istioctls, color)}\n` : parseOutput(flags.output, "log")(forms));
  // Programs that read istioctl's words find nothing else.
  const isForPeople = flags.output === "wide" || (flags.output === "log" && (flags.verbose === true || io.tty));
  if (isForPeople) io.err(fixLines(shown.map(({ code }) => code)));
  if (shown.length === 0) io.err(nothingFound(read, faults.length, target));
  if (flags.output !== "log" && flags.output !== "wide") return 0;
  if (all.some(({ level }) => ranks[level] >= ranks[flags.failureThreshold])) {
    io.err(
      `Error: Analyzers found issues when analyzing ${target}.\nSee ${documentation} for more information about causes and resolutions.\n`,
    );
    return exits.found;
  }
  if (faults.length === 0 || flags.ignoreUnknown) return 0;
  io.err("Error: Some files couldn't be parsed.\n");
  return exits.unreadable;
}

const ranks: Readonly<Record<AnalysisLevel, number>> = { Info: 0, Warning: 1, Error: 2 };

interface Cluster {
  readonly objects: readonly KubeObject[];
  /** Of the kubeconfig's context. */
  readonly namespace: string;
}

async function readCluster(flags: AnalyzeFlags, io: Io): Promise<Cluster> {
  const timeoutMs = parseDurationMs(flags.timeout);
  if (timeoutMs === undefined)
    throw new FairleadError("usage", `--timeout: ${flags.timeout} is not a duration`, { hint: "write it as 30s" });
  if (flags.remoteContexts.length > 0)
    io.err(`Warning: ${flags.remoteContexts.join(", ")}: further clusters are not looked at\n`);
  const signal = AbortSignal.any([io.signal, AbortSignal.timeout(timeoutMs)]);
  const access = await clusterAccess(flags, io);
  const client = createKubeClient(access);
  try {
    const objects = await clusterObjects(client, signal, (message) => io.err(`Warning: ${message}\n`));
    return { objects, namespace: access.namespace };
  } finally {
    client.close();
  }
}

async function analyzeOptions(
  flags: AnalyzeFlags,
  namespace: string,
  cluster: Cluster | undefined,
): Promise<AnalyzeOptions> {
  const { mesh, networks } = meshTexts(cluster?.objects ?? [], flags.istioNamespace, flags.revision);
  const written = flags.meshConfigFile === undefined ? mesh : await readFile(flags.meshConfigFile, "utf8");
  const decodedMesh = decodeMeshConfig(written).ok;
  const decodedNetworks = decodeMeshNetworks(networks).ok;
  return {
    cel: await loadCel(),
    now: new Date(),
    own: true,
    only: flags.analyzer,
    suppress: flags.suppress,
    ...(namespace === "" ? {} : { namespace }),
    ...(decodedMesh ? { mesh: decodedMesh } : {}),
    ...(decodedNetworks ? { networks: decodedNetworks } : {}),
  };
}

/** As kubectl would fill it in. */
function inNamespace(raw: FileObject["raw"], namespace: string): FileObject["raw"] {
  const metadata = isRecord(raw.metadata) ? raw.metadata : {};
  const kind = kindOf(String(raw.apiVersion), String(raw.kind));
  if (namespace === "" || metadata.namespace || kind?.scope !== "Namespaced") return raw;
  return { ...raw, metadata: { ...metadata, namespace } };
}

/** What cannot be decoded cannot be looked at; fields that nobody knows are told and left out. */
function unreadable({ raw, file, line }: FileObject, io: Io): readonly string[] {
  const kind = kindOf(String(raw.apiVersion), String(raw.kind));
  if (!kind) return [];
  const { ok, problems } = decode(kind, raw);
  const told = problems.map(({ object, path, message }) => `${file}:${line(path)}: ${object} ${path}: ${message}`);
  if (ok === undefined) return told.slice(-1);
  for (const text of told) io.err(`Warning: ${text}\n`);
  return [];
}

function locate(messages: ReturnType<typeof analyze>, files: readonly FileObject[]): readonly LocatedMessage[] {
  const byName = new Map([...files].reverse().map((object) => [fileObjectName(object.raw), object]));
  return messages.map((message) => {
    const { kind, namespace, name } = message;
    const found = byName.get(`${kind} ${namespace === "" ? "" : `${namespace}/`}${name}`);
    return found ? { ...message, reference: `${found.file}:${found.line(message.path)}` } : message;
  });
}

function nothingFound({ names }: ReadFiles, faults: number, target: string): string {
  if (faults > 0)
    return `No validation issues found when analyzing ${target} (but ${faults} ${faults === 1 ? "file" : "files"} could not be parsed).\n`;
  if (names.length > 1) return `\u2714 No validation issues found when analyzing:\n  - ${names.join("\n  - ")}\n`;
  return `\u2714 No validation issues found when analyzing ${names[0] ?? target}.\n`;
}
