/** `fairlead run`: joins a process to the standalone mesh as a Pod with its own sidecar. */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { createKubeClient, loadKubeconfig } from "../kube/index.ts";
import { createLogger, FairleadError, isRecord, parseJson } from "../lib/index.ts";
import {
  endJournal,
  type NetworkPlan,
  openJournal,
  ownerOf,
  startWorkload,
  type WorkloadSpec,
} from "../standalone/index.ts";
import { type Io, untilStopped } from "./command.ts";
import { defaultDataDir, ownerOfDir } from "./up/data-dir.ts";
import { isInside, runBeside } from "./up/user-namespace.ts";
import { createWorkloadHost } from "./up/workload-host.ts";

interface RunFlags {
  readonly name: string;
  readonly port: readonly string[];
  readonly labels?: string;
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly data?: string;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("run")
    .summary("Join a process to the standalone mesh as a Pod")
    .description(
      "Runs COMMAND in a network namespace of its own, beside its own agent and Envoy, as a Pod of the standalone mesh. Needs root.",
    )
    .requiredOption("--name <name>", "name of the Pod")
    .requiredOption("--port <port...>", "port that the command listens on; the Pod is ready when the first one is open")
    .option("--labels <labels>", "comma-separated key=value pairs; Services select Pods by them")
    .option("-n, --namespace <namespace>", "namespace of the Pod", "default")
    .option("--service-account <name>", "account whose identity the Pod has", "default")
    .option("--data <dir>", "data folder of the running `fairlead up`")
    .argument("<command...>", "the command, after --")
    .addHelpText(
      "after",
      "\nExample:\n  sudo fairlead run --name web --labels app=web,version=v1 --port 8000 -- python3 -m http.server 8000\n",
    )
    .passThroughOptions()
    .action(async (command: readonly string[], flags: RunFlags) => exit(await run(command, flags, io)));
}

async function run(command: readonly string[], flags: RunFlags, io: Io): Promise<number> {
  const log = createLogger({ write: (line) => io.err(`${line}\n`), now: () => new Date() });
  const spec = workloadSpec(command, flags);
  const dir = findMesh(flags.data ?? defaultDataDir(io.env));
  const owner = ownerOfDir(dir);
  if (!owner)
    throw new FairleadError("not-found", `no standalone mesh runs on ${dir}`, { hint: "start it with `fairlead up`" });
  if (process.getuid?.() !== 0 && !isInside(io)) return await runBeside(owner.pid, runArgs(command, flags), io);
  const { plan, discoveryAddress } = readNetwork(dir);
  const client = createKubeClient(await loadKubeconfig({ paths: [join(dir, "kubeconfig")], env: {} }));
  const journal = openJournal(
    join(dir, "run"),
    `run-${process.pid}`,
    ownerOf(process.pid) ?? { pid: process.pid, started: "" },
  );
  try {
    const host = createWorkloadHost({
      client,
      plan,
      journal,
      discoveryAddress,
      io,
      log,
      line: (source, text) => io.err(`[${source}] ${text}\n`),
    });
    const workload = await startWorkload(host, spec, io.signal);
    io.err(`${spec.namespace}/${spec.name} is ready at ${workload.address}\n`);
    try {
      const ended = await Promise.race([workload.ended, untilStopped(io.signal).then(() => 0 as const)]);
      if (ended === "deleted") io.err(`${spec.namespace}/${spec.name} was deleted\n`);
      if (ended === "deleted") return 0;
      return typeof ended === "number" ? ended : 1;
    } finally {
      await workload.stop();
    }
  } finally {
    await endJournal(journal);
    client.close();
  }
}

/** The same command line again. */
function runArgs(command: readonly string[], flags: RunFlags): readonly string[] {
  const given = (flag: string, value: string | undefined): readonly string[] =>
    value === undefined ? [] : [flag, value];
  return [
    "run",
    ...["--name", flags.name, "--namespace", flags.namespace, "--service-account", flags.serviceAccount],
    ...given("--labels", flags.labels),
    ...given("--data", flags.data),
    ...["--port", ...flags.port],
    "--",
    ...command,
  ];
}

function workloadSpec(command: readonly string[], flags: RunFlags): WorkloadSpec {
  const ports = flags.port.map((text) => {
    const port = Number(text);
    if (!Number.isInteger(port) || port < 1 || port > 65535)
      throw new FairleadError("usage", `--port: ${text} is not a port`);
    return port;
  });
  return {
    name: flags.name,
    namespace: flags.namespace,
    labels: parseLabels(flags.labels ?? `app=${flags.name}`),
    serviceAccount: flags.serviceAccount,
    ports,
    type: "sidecar",
    command,
    env: { PORT: String(ports[0] ?? "") },
  };
}

function parseLabels(text: string): Readonly<Record<string, string>> {
  const pairs = text
    .split(",")
    .filter((pair) => pair !== "")
    .map((pair) => {
      const at = pair.indexOf("=");
      if (at < 1) throw new FairleadError("usage", `--labels: ${pair} is not key=value`);
      return [pair.slice(0, at), pair.slice(at + 1)] as const;
    });
  return Object.fromEntries(pairs);
}

function findMesh(path: string): string {
  if (!existsSync(join(path, "run/network.json")))
    throw new FairleadError("not-found", `no standalone mesh runs on ${path}`, {
      hint: "start one with `sudo fairlead up`, or name its folder with --data DIR",
    });
  return realpathSync(path);
}

function readNetwork(dir: string): { plan: NetworkPlan; discoveryAddress: string } {
  const value = parseJson(readFileSync(join(dir, "run/network.json"), "utf8"));
  if (!isRecord(value) || !isRecord(value.plan))
    throw new FairleadError("invalid", `${dir}/run/network.json cannot be read`, { hint: "start `fairlead up` again" });
  const address = value.discoveryAddress;
  if (typeof address !== "string")
    throw new FairleadError("no-permission", "that mesh has no network: `fairlead up` was started without root", {
      hint: "start it with sudo",
    });
  // Written by `up` from the same type.
  return { plan: value.plan as unknown as NetworkPlan, discoveryAddress: address };
}
