/** `fairlead edit`: an object of the API in an editor, and back: the same checks as for any other change. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { createKubeClient, parseObjects } from "../kube/index.ts";
import { FairleadError, printable } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { clusterAccess } from "./cluster-access.ts";
import type { Io } from "./command.ts";
import { findKind } from "./objects.ts";
import { printSortedYaml } from "./print.ts";

interface EditFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace: string;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("edit")
    .summary("Change an object of the API in an editor")
    .description("Opens the object in KUBE_EDITOR, EDITOR or vi, and writes it back if it was changed.")
    .argument("<type>", "resource type, such as vs; or type/name")
    .argument("[name]", "the object")
    .option("--kubeconfig <file>", "how to reach the API")
    .option("--context <name>", "context of the kubeconfig")
    .option("-n, --namespace <namespace>", "namespace of the object", "default")
    .addHelpText(
      "after",
      "\nExamples:\n  fairlead edit vs reviews\n  EDITOR=nano fairlead edit destinationrule/reviews -n shop\n",
    )
    .action(async (type: string, name: string | undefined, flags: EditFlags) =>
      exit(await edit(type, name, flags, io)),
    );
}

async function edit(type: string, given: string | undefined, flags: EditFlags, io: Io): Promise<number> {
  const [typeName = "", name = given] = type.split("/");
  if (name === undefined || name === "")
    throw new FairleadError("usage", "name the object: fairlead edit TYPE NAME", {
      hint: "such as fairlead edit vs reviews",
    });
  const client = createKubeClient(await clusterAccess(flags, io));
  const dir = await mkdtemp(join(tmpdir(), "fairlead-edit-"));
  const file = join(dir, `${typeName.replace(/[^\w.-]/g, "")}.yaml`);
  try {
    const kind = await findKind(client, typeName);
    const { metadata, ...rest } = await client.get(kind, {
      name,
      namespace: kind.namespaced ? flags.namespace : undefined,
    });
    const { managedFields: _fields, ...shown } = metadata as KubeObject["metadata"] & {
      readonly managedFields?: unknown;
    };
    const before = printSortedYaml({ ...rest, metadata: shown });
    await writeFile(file, before, { mode: 0o600 });
    await runEditor(file, io);
    const after = await readFile(file, "utf8");
    if (after === before) {
      io.err("Edit cancelled, no changes made.\n");
      return 0;
    }
    const [object] = parseObjects(file, after).map((one) => one.object);
    if (!object) throw new FairleadError("invalid", "the file has no object any more; nothing was written");
    await client.update(kind, object, { fieldManager: "fairlead-edit", fieldValidation: "Strict" });
    io.out(`${kind.singular || kind.plural}/${printable(name)} edited\n`);
    return 0;
  } finally {
    client.close();
    await rm(dir, { recursive: true, force: true });
  }
}

/** The variable may have arguments, as in `code --wait`. */
async function runEditor(file: string, io: Io): Promise<void> {
  const command = io.env.KUBE_EDITOR || io.env.EDITOR || "vi";
  const child = spawn("/bin/sh", ["-c", `${command} "$1"`, "fairlead-edit", file], {
    stdio: "inherit",
    env: { ...io.env },
    signal: io.signal,
  });
  const [code]: readonly unknown[] = await once(child, "exit");
  if (code !== 0)
    throw new FairleadError("invalid", `the editor ${JSON.stringify(command)} failed; nothing was written`, {
      hint: "EDITOR names another one",
    });
}
