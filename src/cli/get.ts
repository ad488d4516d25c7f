/** `fairlead get`: shows objects, for a machine without kubectl; columns as the API itself gives them. */
import { type Command, Option } from "commander";
import { createKubeClient } from "../kube/index.ts";
import { FairleadError, isRecord } from "../lib/index.ts";
import { clusterAccess } from "./cluster-access.ts";
import type { Io } from "./command.ts";
import { findKind } from "./objects.ts";
import { printYaml } from "./print.ts";
import { printTable } from "./table.ts";

interface GetFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace: string;
  readonly allNamespaces?: boolean;
  readonly output: "table" | "json" | "yaml" | "name";
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("get")
    .summary("Show objects of the API")
    .argument("<type>", "resource type, such as pods or vs")
    .argument("[name]", "one object; all where absent")
    .option("--kubeconfig <file>", "how to reach the API")
    .option("--context <name>", "context of the kubeconfig")
    .option("-n, --namespace <namespace>", "namespace of the objects", "default")
    .option("-A, --all-namespaces", "over all namespaces")
    .addOption(
      new Option("-o, --output <format>", "how to print").choices(["table", "json", "yaml", "name"]).default("table"),
    )
    .addHelpText("after", "\nExamples:\n  fairlead get pods -A\n  fairlead get vs reviews -o yaml\n")
    .action(async (type: string, name: string | undefined, flags: GetFlags) => {
      const client = createKubeClient(await clusterAccess(flags, io));
      try {
        const kind = await findKind(client, type);
        const namespace = kind.namespaced && !flags.allNamespaces ? flags.namespace : undefined;
        const found =
          name === undefined
            ? [...(await client.list(kind, { namespace })).items]
            : [await client.get(kind, { name, namespace })];
        if (flags.output === "name")
          io.out(found.map((object) => `${kind.singular || kind.plural}/${object.metadata.name}\n`).join(""));
        else if (flags.output !== "table") {
          const shown = name === undefined ? { apiVersion: "v1", kind: "List", items: found } : found[0];
          io.out(flags.output === "json" ? `${JSON.stringify(shown, null, 2)}\n` : printYaml(shown));
        } else if (found.length === 0)
          io.err(namespace === undefined ? "No resources found\n" : `No resources found in ${namespace} namespace.\n`);
        else {
          const header = [...(flags.allNamespaces && kind.namespaced ? ["NAMESPACE"] : []), "NAME", "AGE", "STATUS"];
          io.out(
            printTable(
              header,
              found.map((object) => [
                ...(flags.allNamespaces && kind.namespaced ? [object.metadata.namespace ?? ""] : []),
                object.metadata.name,
                age(object.metadata.creationTimestamp),
                statusOf(object.status),
              ]),
            ),
          );
        }
        exit(0);
      } catch (error) {
        if (error instanceof FairleadError && error.code === "not-found") {
          io.err(`fairlead: ${error.message}\n`);
          exit(1);
        } else throw error;
      } finally {
        client.close();
      }
    });
}

function age(created: string | undefined): string {
  const seconds = Math.max(0, (Date.now() - Date.parse(created ?? "")) / 1000);
  if (Number.isNaN(seconds)) return "<unknown>";
  if (seconds < 120) return `${Math.floor(seconds)}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

function statusOf(status: unknown): string {
  return isRecord(status) && typeof status.phase === "string" ? status.phase : "";
}
