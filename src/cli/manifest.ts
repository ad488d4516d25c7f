/** `fairlead manifest generate|values|chart`: the values of an installation in; its objects as YAML, or its Helm chart, out. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import { chartFiles, valuesYaml } from "../install/index.ts";
import type { Io } from "./command.ts";
import { allObjects, inFolder, readInstallation, type ValueFlags, valueOptions } from "./install/installation.ts";
import { printSortedYaml } from "./print.ts";

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  const manifest = program
    .command("manifest")
    .summary("Print what an installation consists of")
    .addHelpText(
      "after",
      "\nExamples:\n  fairlead manifest generate | kubectl apply --server-side -f -\n  fairlead manifest values\n",
    );
  valueOptions(manifest.command("generate"))
    .description("Prints every object of an installation, for kubectl apply -f -.")
    .addHelpText(
      "after",
      "\nExamples:\n  fairlead manifest generate | kubectl apply --server-side -f -\n  fairlead manifest generate --profile demo --set global.logAsJson=true\n",
    )
    .action(async (flags: ValueFlags) => {
      const objects = allObjects(await readInstallation(flags, io));
      io.out(objects.map((object) => `${printSortedYaml(object)}---\n`).join(""));
      exit(0);
    });
  manifest
    .command("values")
    .description("Prints every value with its default and what it does.")
    .addHelpText("after", "\nExample:\n  fairlead manifest values > values.yaml\n")
    .action(() => {
      io.out(valuesYaml(printSortedYaml));
      exit(0);
    });
  manifest
    .command("chart")
    .description("Writes a Helm chart of the same content.")
    .requiredOption("-o, --output <dir>", "folder of the chart")
    .addHelpText(
      "after",
      "\nExample:\n  fairlead manifest chart -o chart && helm install fairlead chart -n istio-system --create-namespace\n",
    )
    .action(async ({ output }: { readonly output: string }) => {
      for (const { path, content } of chartFiles(printSortedYaml)) {
        const file = join(inFolder(output, io), path);
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, content);
      }
      exit(0);
    });
}
