/** `fairlead validate -f`: files in; what the API and its webhook would say of each object out. */
import { readFile } from "node:fs/promises";
import { type Command, Option } from "commander";
import { validateConfig } from "../config/index.ts";
import { parseObjects } from "../kube/index.ts";
import { FairleadError } from "../lib/index.ts";
import { kindOf, objectName } from "../model/index.ts";
import type { Io } from "./command.ts";
import { printYaml } from "./print.ts";

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
    .requiredOption("-f, --filename <file...>", "files with YAML or JSON; - is standard input")
    .addOption(new Option("-o, --output <format>", "how to print").choices(["table", "json", "yaml"]).default("table"))
    .addHelpText(
      "after",
      "\nExamples:\n  fairlead validate -f demo/config/reviews-v1.yaml\n  kubectl get vs -A -o yaml | fairlead validate -f -\n",
    )
    .action(async (flags: { filename: readonly string[]; output: "table" | "json" | "yaml" }) =>
      exit(await validate(flags.filename, flags.output, io)),
    );
}

async function validate(files: readonly string[], output: "table" | "json" | "yaml", io: Io): Promise<number> {
  const findings: Finding[] = [];
  let checked = 0;
  for (const file of files) {
    const text =
      file === "-"
        ? await readStdin()
        : await readFile(file, "utf8").catch((cause: unknown) => {
            throw new FairleadError("not-found", `cannot read ${file}`, { cause });
          });
    for (const { object } of parseObjects(file, text)) {
      const kind = kindOf(object.apiVersion, object.kind);
      if (!kind) continue;
      checked++;
      const { errors, warnings } = validateConfig(kind, object);
      const name = objectName(object.kind, object.metadata);
      for (const { path, message } of errors)
        findings.push({ file, object: name, severity: "error", field: path, message });
      for (const { path, message } of warnings)
        findings.push({ file, object: name, severity: "warning", field: path, message });
    }
  }
  const failed = findings.some((finding) => finding.severity === "error");
  if (output === "json") io.out(`${JSON.stringify(findings, null, 2)}\n`);
  else if (output === "yaml") io.out(printYaml(findings));
  else {
    for (const finding of findings)
      io.err(`${finding.severity}: ${finding.file}: ${finding.object} ${finding.field}: ${finding.message}\n`);
    if (!failed)
      io.out(
        `${files.map((file) => JSON.stringify(file)).join(", ")} ${files.length === 1 ? "is" : "are"} valid (${checked} checked)\n`,
      );
  }
  return failed ? 1 : 0;
}

async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks).toString("utf8");
}
