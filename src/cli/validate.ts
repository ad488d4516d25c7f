/** `fairlead validate -f`: files in; istioctl's verdict on each object, in istioctl's words, out. */
import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { loadCel, type ValidateOptions, validateConfig } from "../config/index.ts";
import { objectFiles, parseObjects } from "../kube/index.ts";
import { FairleadError } from "../lib/index.ts";
import { type KubeObject, kindOf } from "../model/index.ts";
import { patchCheckerFor } from "./check-patches.ts";
import type { Io } from "./command.ts";
import { outputOption, parseOutput } from "./output.ts";
import { readStdin } from "./stdin.ts";

interface Finding {
  readonly file: string;
  readonly object: string;
  readonly severity: "error" | "warning";
  readonly field: string;
  readonly message: string;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("validate")
    .alias("v")
    .summary("Check Istio objects in files, without a cluster")
    .requiredOption("-f, --filename <path...>", "files and folders with YAML or JSON; - is standard input")
    .addOption(outputOption("table"))
    .addHelpText(
      "after",
      "\nExamples:\n  fairlead validate -f demo/config/reviews-v1.yaml\n  kubectl get vs -A -o yaml | fairlead validate -f -\n",
    )
    .action(async (flags: { filename: readonly string[]; output: string }) =>
      exit(await validate(flags.filename, flags.output, io)),
    );
}

async function validate(paths: readonly string[], output: string, io: Io): Promise<number> {
  const files = new Map<string, readonly KubeObject[]>();
  const unread: Finding[] = [];
  for (const path of paths)
    for (const file of await filesOf(path))
      try {
        const text = file === "-" ? await readStdin() : await readFile(file, "utf8");
        const objects = parseObjects(file, text).map(({ object }) => object);
        files.set(file, objects);
      } catch (thrown) {
        unread.push(unreadable(file, thrown));
      }
  const options = { cel: await loadCel(), ...(await patchCheckerFor([...files.values()].flat())) };
  const judged = [...files].flatMap(([file, objects]) => objects.flatMap((object) => judge(file, object, options)));
  const findings = [...judged, ...unread];
  const failed = findings.some((finding) => finding.severity === "error");
  const verdict = (): string => asText([...files.keys()], findings, failed);
  // As istioctl, whose verdict is on standard error.
  if (output === "table" || output === "wide") io.err(verdict());
  else
    io.out(
      parseOutput(
        output,
        "table",
      )({ plain: verdict, data: () => findings, names: () => [...new Set(findings.map(({ object }) => object))] }),
    );
  return failed ? 1 : 0;
}

/** Files of a folder are told apart, as on the command line. */
async function filesOf(path: string): Promise<readonly string[]> {
  if (path === "-") return [path];
  return objectFiles(path).catch((cause: unknown) => {
    throw new FairleadError("not-found", `cannot stat file "${path}"`, { cause });
  });
}

/** One file that cannot be read says nothing of the others. */
function unreadable(file: string, thrown: unknown): Finding {
  return {
    file,
    object: file,
    severity: "error",
    field: "",
    message: FairleadError.from(thrown).message.split("\n")[0] ?? "",
  };
}

const objectFields: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata", "spec", "status"]);

function judge(file: string, object: KubeObject, options: ValidateOptions): readonly Finding[] {
  const kind = kindOf(object.apiVersion, object.kind);
  if (kind?.encoding !== "protobuf") return [];
  const name = `${object.kind}/${object.metadata.namespace ?? ""}/${object.metadata.name}`;
  const { readable, errors, warnings } = validateConfig(kind, object, options);
  const finding = (severity: Finding["severity"], field: string, message: string): Finding => ({
    file,
    object: name,
    severity,
    field,
    message: readable ? message : `cannot parse proto message: ${message}`,
  });
  const stray = errors.length > 0 ? [] : Object.keys(object).filter((key) => !objectFields.has(key));
  return [
    ...warnings.map(({ path, message }) => finding("warning", path, message)),
    ...errors.map(({ path, message }) => finding("error", path, message)),
    ...stray.map((key) => finding("error", key, `unknown field "${key}"`)),
  ];
}

/** As istioctl prints it: the warnings of each file, then all errors together; or that the file is valid. */
function asText(files: readonly string[], findings: readonly Finding[], failed: boolean): string {
  const list = (some: readonly Finding[]): string =>
    some.map(({ object, message }) => `\n\t* ${object}: ${message}`).join("");
  const perFile = files.map((file) => {
    const warnings = findings.filter((finding) => finding.file === file && finding.severity === "warning");
    if (warnings.length > 0) return `${JSON.stringify(file)} has warnings: ${list(warnings)}\n\n`;
    if (failed) return "";
    return file === "-" ? "validation succeed\n" : `${JSON.stringify(file)} is valid\n`;
  });
  const errors = findings.filter((finding) => finding.severity === "error");
  const closing = failed
    ? `Error: ${errors.length} error${errors.length === 1 ? "" : "s"} occurred:${list(errors)}\n\n\n`
    : "";
  return `${perFile.join("")}${closing}`;
}
