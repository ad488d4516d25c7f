/** `fairlead delete`: removes objects, for a machine without kubectl. */
import type { Command } from "commander";
import { createKubeClient, loadObjects } from "../kube/index.ts";
import { FairleadError, printable } from "../lib/index.ts";
import { clusterAccess } from "./cluster-access.ts";
import type { Io } from "./command.ts";
import { deleteObject, findKind } from "./objects.ts";

interface DeleteFlags {
  readonly filename?: readonly string[];
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace: string;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("delete")
    .summary("Remove objects by name or from files")
    .argument("[type]", "resource type, such as vs or pod")
    .argument("[names...]", "names of objects")
    .option("-f, --filename <path...>", "remove the objects in these files")
    .option("--kubeconfig <file>", "how to reach the API")
    .option("--context <name>", "context of the kubeconfig")
    .option("-n, --namespace <namespace>", "namespace of the objects", "default")
    .addHelpText(
      "after",
      "\nExamples:\n  fairlead delete vs reviews\n  fairlead delete -f demo/config/reviews-v1.yaml\n",
    )
    .action(async (type: string | undefined, names: readonly string[], flags: DeleteFlags) => {
      if (flags.filename === undefined && (type === undefined || names.length === 0))
        throw new FairleadError("usage", "say what to delete: a type and names, or -f FILE");
      const client = createKubeClient(await clusterAccess(flags, io));
      try {
        if (flags.filename !== undefined)
          for (const { object } of await loadObjects(flags.filename)) {
            await deleteObject(client, object);
            io.out(`${printable(`${object.kind.toLowerCase()}/${object.metadata.name}`)} deleted\n`);
          }
        if (type !== undefined) {
          const kind = await findKind(client, type);
          for (const name of names) {
            await client.delete(kind, { name, namespace: kind.namespaced ? flags.namespace : undefined });
            io.out(`${kind.singular || kind.plural}/${printable(name)} deleted\n`);
          }
        }
      } finally {
        client.close();
      }
      exit(0);
    });
}
