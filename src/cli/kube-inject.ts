/** `fairlead kube-inject -f`: files with workloads in; the same with a sidecar in each out, with no cluster. */
import { readFile, writeFile } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import type { Command } from "commander";
import { decodeMeshConfig, decodeProxyConfig, podAnnotationError, unknownPodAnnotation } from "../config/index.ts";
import { createInjectSettings, type InjectedDocument, injectDocuments } from "../inject/index.ts";
import { FairleadError, isRecord, parseYaml, readRecord } from "../lib/index.ts";
import { type MeshConfigSpec, mergeMeshConfig, type ProxyConfigValues } from "../model/index.ts";
import type { Io } from "./command.ts";
import { printSortedYaml } from "./print.ts";

interface InjectFlags {
  readonly filename: string;
  readonly output?: string;
  readonly meshConfigFile?: string;
  readonly valuesFile?: string;
  readonly injectConfigFile?: string;
  readonly operatorFileName?: string;
  readonly revision?: string;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("kube-inject")
    .summary("Add the sidecar to workloads in files, without a cluster")
    .description(
      "Prints the objects of a file with the sidecar in every workload; objects without Pods are printed as they are.\n" +
        "Without further files it injects as a fresh installation of Fairlead would; the files of a cluster make it inject\n" +
        "as that cluster does. ENABLE_NATIVE_SIDECARS and COMPLIANCE_POLICY are read as istiod reads them.",
    )
    .requiredOption("-f, --filename <file>", "file with workloads; - is standard input")
    .option("-o, --output <file>", "write to this file instead of printing")
    .option("--meshConfigFile <file>", "MeshConfig (key mesh of ConfigMap istio)")
    .option("--valuesFile <file>", "the installation's values (key values of ConfigMap istio-sidecar-injector)")
    .option("--injectConfigFile <file>", "policy and own templates (key config of ConfigMap istio-sidecar-injector)")
    .option("--operatorFileName <file>", "an IstioOperator, whose values and meshConfig win over the files")
    .option("-r, --revision <revision>", "revision of the control plane that the workloads belong to")
    .addHelpText(
      "after",
      "\nExamples:\n" +
        "  fairlead kube-inject -f deployment.yaml | kubectl apply -f -\n" +
        "  kubectl -n istio-system get cm istio-sidecar-injector -o jsonpath='{.data.values}' > values.json\n" +
        "  kubectl -n istio-system get cm istio -o jsonpath='{.data.mesh}' > mesh.yaml\n" +
        "  fairlead kube-inject -f deployment.yaml --valuesFile values.json --meshConfigFile mesh.yaml\n",
    )
    .action(async (flags: InjectFlags) => exit(await kubeInject(flags, io)));
}

async function kubeInject(flags: InjectFlags, io: Io): Promise<number> {
  const operator = readRecord(readRecord(await readYaml(flags.operatorFileName, io)).spec);
  const warnings: string[] = [];
  const settings = createInjectSettings({
    values: operator.values ?? (await readYaml(flags.valuesFile, io)),
    config: await readInjectConfig(flags.injectConfigFile, io),
    meshConfig: readMeshConfig(
      isRecord(operator.meshConfig) ? JSON.stringify(operator.meshConfig) : await readText(flags.meshConfigFile, io),
    ),
    revision: flags.revision === "default" ? "" : (flags.revision ?? ""),
    compliancePolicy: io.env.COMPLIANCE_POLICY ?? "",
    annotationError: (name, value) => {
      const unknown = unknownPodAnnotation(name);
      if (unknown !== undefined) throw new FairleadError("invalid", unknown);
      return podAnnotationError(name, value);
    },
  });
  const documents = injectDocuments(await readText(flags.filename, io), {
    settings,
    // There are no nodes to look at: only a plain yes counts.
    nativeSidecars: io.env.ENABLE_NATIVE_SIDECARS === "true",
    readProxyConfig,
    warn: (text) => warnings.push(`===> ${text}\n`),
  });
  const text = documents.map(printDocument).join("");
  if (flags.output === undefined) io.out(text);
  else await writeFile(inFolder(flags.output, io), text);
  if (warnings.length > 0) io.err(`\n${warnings.join("\n")}\n`);
  return 0;
}

function printDocument(document: InjectedDocument): string {
  return `${"text" in document ? document.text : printSortedYaml(document.object)}---\n`;
}

function readMeshConfig(text: string): MeshConfigSpec {
  const { ok, problems } = decodeMeshConfig(text);
  if (!ok) throw new FairleadError("invalid", `the mesh config cannot be read: ${problems.at(-1)?.message ?? ""}`);
  return mergeMeshConfig(ok);
}

function readProxyConfig(text: string): ProxyConfigValues {
  const { ok, problems } = decodeProxyConfig(text);
  if (ok) return ok;
  throw new FairleadError(
    "invalid",
    `invalid value '${text}' for annotation 'proxy.istio.io/config': ${problems.at(-1)?.message ?? ""}`,
  );
}

/** The whole of a ConfigMap's key, or a single template, which is then the sidecar's. */
async function readInjectConfig(file: string | undefined, io: Io): Promise<unknown> {
  if (file === undefined) return undefined;
  const text = await readText(file, io);
  const parsed = parseOrNothing(text);
  return isRecord(parsed) && isRecord(parsed.templates) ? parsed : { templates: { sidecar: text } };
}

function parseOrNothing(text: string): unknown {
  try {
    return parseYaml(text)[0];
  } catch {
    return undefined;
  }
}

async function readYaml(file: string | undefined, io: Io): Promise<unknown> {
  return file === undefined ? undefined : parseYaml(await readText(file, io))[0];
}

async function readText(file: string | undefined, io: Io): Promise<string> {
  if (file === undefined) return "";
  if (file === "-") return readStdin();
  return readFile(inFolder(file, io), "utf8").catch((cause: unknown) => {
    throw new FairleadError("not-found", `cannot read ${file}`, { cause });
  });
}

const inFolder = (file: string, io: Io): string => (isAbsolute(file) ? file : join(io.cwd, file));

async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks).toString("utf8");
}
