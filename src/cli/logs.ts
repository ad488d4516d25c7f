/** `fairlead logs`: what a Pod's containers, or the control plane, have written, for a machine without kubectl; its words and flags. */
import type { Command } from "commander";
import { createKubeClient, type KubeClient, kubeKinds, objectPath } from "../kube/index.ts";
import { FairleadError, parseDurationMs, readList, readRecord, readText } from "../lib/index.ts";
import { parsePodName } from "../model/index.ts";
import { type AccessFlags, clusterAccess } from "./cluster-access.ts";
import type { Io } from "./command.ts";
import { safeLines } from "./output.ts";
import { findPods, type PodRef } from "./proxy-config/pod.ts";

export interface LogFlags {
  readonly container?: string;
  readonly follow?: boolean;
  readonly previous?: boolean;
  readonly timestamps?: boolean;
  readonly since?: string;
  readonly tail?: string;
}

interface LogsFlags extends LogFlags, AccessFlags {
  readonly namespace: string;
  readonly allContainers?: boolean;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("logs")
    .summary("Show what a Pod's containers have written")
    .argument("<pod>", "[type/]name[.namespace], such as web-1 or deploy/istiod.istio-system")
    .option("--kubeconfig <file>", "how to reach the API")
    .option("--context <name>", "context of the kubeconfig")
    .option("-n, --namespace <namespace>", "namespace of the Pod", "default")
    .option("-c, --container <name>", "one container, such as istio-proxy; the first that is no proxy where absent")
    .option("--all-containers", "of all containers, one after the other")
    .option("-f, --follow", "go on with what is written from now on")
    .option("-p, --previous", "of the life before the last restart")
    .option("--since <duration>", "not older than this, such as 10m")
    .option("--tail <lines>", "only so many of the last lines")
    .option("--timestamps", "each line with its time")
    .addHelpText(
      "after",
      "\nExamples:\n  fairlead logs reviews-v1 -c istio-proxy --since 10m\n  fairlead logs -f deploy/istiod -n istio-system\n",
    )
    .action(async (pod: string, flags: LogsFlags) => exit(await logs(pod, flags, io)));
}

async function logs(name: string, flags: LogsFlags, io: Io): Promise<number> {
  logQuery(flags);
  const client = createKubeClient(await clusterAccess(flags, io));
  try {
    const [pod] = await findPods(client, parsePodName(name, flags.namespace));
    if (!pod) throw new FairleadError("not-found", `no pods match ${name}`);
    for (const container of await wantedContainers(client, pod, flags)) {
      const text = await client.stream(logPath(pod, { ...flags, container }), io.signal);
      // A terminal is not to obey what somebody got written into a log.
      for await (const chunk of text.setEncoding("utf8")) io.out(io.tty ? safeLines(String(chunk)) : String(chunk));
    }
    return 0;
  } finally {
    client.close();
  }
}

async function wantedContainers(client: KubeClient, pod: PodRef, flags: LogsFlags): Promise<readonly string[]> {
  if (flags.container !== undefined) return [flags.container];
  const names = await containersOf(client, pod);
  const app = names.find((name) => name !== "istio-proxy") ?? names[0];
  return flags.allContainers === true ? names : app === undefined ? [] : [app];
}

export async function containersOf(client: KubeClient, pod: PodRef): Promise<readonly string[]> {
  const { spec } = await client.get(kubeKinds.pods, pod);
  return readList(readRecord(spec)["containers"]).map((one) => readText(readRecord(one)["name"]));
}

export function logPath(pod: PodRef, flags: LogFlags): string {
  return `${objectPath(kubeKinds.pods, pod, "log")}?${logQuery(flags)}`;
}

function logQuery({ container, follow, previous, timestamps, since, tail }: LogFlags): URLSearchParams {
  const sinceMs = since === undefined ? undefined : parseDurationMs(since);
  if (since !== undefined && (sinceMs === undefined || sinceMs < 1000))
    throw new FairleadError("usage", `--since: ${since} is not a duration`, { hint: "write it as 30s or 10m" });
  if (tail !== undefined && !/^\d{1,9}$/.test(tail))
    throw new FairleadError("usage", `--tail: ${tail} is not a number of lines`);
  return new URLSearchParams({
    ...(container === undefined ? {} : { container }),
    ...(follow ? { follow: "true" } : {}),
    ...(previous ? { previous: "true" } : {}),
    ...(timestamps ? { timestamps: "true" } : {}),
    ...(sinceMs === undefined ? {} : { sinceSeconds: String(Math.ceil(sinceMs / 1000)) }),
    ...(tail === undefined ? {} : { tailLines: tail }),
  });
}
