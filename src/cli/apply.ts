/** `fairlead apply -f`: creates or changes objects, for a machine without kubectl. */
import type { Command } from "commander";
import { createKubeClient, loadObjects } from "../kube/index.ts";
import { FairleadError } from "../lib/index.ts";
import { clusterAccess } from "./cluster-access.ts";
import type { Io } from "./command.ts";
import { applyObject } from "./objects.ts";

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("apply")
    .summary("Create or change objects from files")
    .description("Applies Kubernetes and Istio YAML to the API, with the same checks that kubectl gets.")
    .requiredOption("-f, --filename <path...>", "files and folders (recursive) with YAML or JSON")
    .option("--kubeconfig <file>", "how to reach the API")
    .option("--context <name>", "context of the kubeconfig")
    .option("-n, --namespace <namespace>", "for objects that name none")
    .addHelpText("after", "\nExample:\n  fairlead apply -f demo/config/reviews-v1.yaml\n")
    .action(
      async (flags: { filename: readonly string[]; kubeconfig?: string; context?: string; namespace?: string }) => {
        const client = createKubeClient(await clusterAccess(flags, io));
        let refused = 0;
        try {
          for (const { file, object } of await loadObjects(flags.filename)) {
            const name = `${object.kind.toLowerCase()}/${object.metadata.name}`;
            const placed =
              flags.namespace !== undefined && object.metadata.namespace === undefined
                ? { ...object, metadata: { ...object.metadata, namespace: flags.namespace } }
                : object;
            try {
              await applyObject(client, placed);
              io.out(`${name} applied\n`);
            } catch (thrown) {
              const error = FairleadError.from(thrown);
              if (error.code === "unavailable") throw error;
              refused++;
              io.err(`${file}: ${name} refused: ${error.message}\n`);
            }
          }
        } finally {
          client.close();
        }
        exit(refused === 0 ? 0 : 1);
      },
    );
}
