/** `fairlead apply -f`: creates or changes objects, for a machine without kubectl. */
import type { Command } from "commander";
import { createKubeClient, type KubeClient, loadObjects, objectFiles } from "../kube/index.ts";
import { FairleadError, printable } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { clusterAccess } from "./cluster-access.ts";
import type { Io } from "./command.ts";
import { applyObject, findKind } from "./objects.ts";
import { hasCondition } from "./wait/answers.ts";
import { isProgrammed, parseTimeout } from "./wait.ts";

interface ApplyFlags {
  readonly filename: readonly string[];
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly wait?: boolean;
  readonly timeout: string;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("apply")
    .summary("Create or change objects from files")
    .description("Applies Kubernetes and Istio YAML to the API, with the same checks that kubectl gets.")
    .requiredOption("-f, --filename <path...>", "files and folders (recursive) with YAML or JSON")
    .option("--kubeconfig <file>", "how to reach the API")
    .option("--context <name>", "context of the kubeconfig")
    .option("-n, --namespace <namespace>", "for objects that name none")
    .option("--wait", "until every proxy that they reach has acknowledged them, as `fairlead wait`")
    .option("--timeout <duration>", "how long to wait", "30s")
    .addHelpText(
      "after",
      "\nExamples:\n  fairlead apply -f demo/config/reviews-v1.yaml\n  fairlead apply -f reviews.yaml --wait --timeout 10s\n",
    )
    .action(async (flags: ApplyFlags) => {
      const onWarning = (text: string): void => io.err(`Warning: ${text}\n`);
      const client = createKubeClient(await clusterAccess(flags, io), { onWarning });
      try {
        const timeoutMs = parseTimeout(flags.timeout);
        const { refused, applied } = await applyFiles(client, flags, io);
        const areLive = flags.wait !== true || (await areProgrammed(client, applied, timeoutMs, io));
        exit(refused === 0 && areLive ? 0 : 1);
      } finally {
        client.close();
      }
    });
}

/** One file or object that is refused does not keep the others back, as with kubectl. */
async function applyFiles(
  client: KubeClient,
  flags: ApplyFlags,
  io: Io,
): Promise<{ readonly refused: number; readonly applied: readonly KubeObject[] }> {
  let refused = 0;
  const applied: KubeObject[] = [];
  const refuse = (text: string): void => {
    refused++;
    io.err(text);
  };
  for (const path of flags.filename)
    for (const file of await objectFiles(path)) {
      const objects = await loadObjects([file]).catch((thrown: unknown) => {
        refuse(`${FairleadError.from(thrown).message}\n`);
        return [];
      });
      for (const { object } of objects) {
        const name = `${object.kind.toLowerCase()}/${object.metadata.name}`;
        try {
          const made = await applyObject(client, placed(object, flags.namespace));
          applied.push({ ...object, metadata: made.metadata });
          io.out(`${printable(name)} applied\n`);
        } catch (thrown) {
          const error = FairleadError.from(thrown);
          if (error.code === "unavailable") throw error;
          refuse(`${file}: ${name} refused: ${error.message}\n`);
        }
      }
    }
  return { refused, applied };
}

/** Of the kinds whose status says it; nothing follows from others. */
async function areProgrammed(
  client: KubeClient,
  applied: readonly KubeObject[],
  timeoutMs: number,
  io: Io,
): Promise<boolean> {
  const untilMs = performance.now() + timeoutMs;
  let all = true;
  for (const { apiVersion, kind, metadata } of applied) {
    const [group = ""] = apiVersion.split("/");
    if (!hasCondition({ group, kind })) continue;
    const named = await findKind(client, `${kind}.${group}`);
    const flags = { namespace: metadata.namespace ?? "default", address: [] };
    if (!(await isProgrammed(client, { kind: named, name: metadata.name }, flags, untilMs, io))) all = false;
  }
  return all;
}

const placed = (object: KubeObject, namespace: string | undefined): KubeObject =>
  namespace !== undefined && object.metadata.namespace === undefined
    ? { ...object, metadata: { ...object.metadata, namespace } }
    : object;
