/** `fairlead run`: joins a process to the standalone mesh as a Pod with its own sidecar. */
import { accessSync, constants, realpathSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import type { Command } from "commander";
import type { KubeClient } from "../kube/index.ts";
import { createLogger, FairleadError, isAlive, type Owner, ownerOf, wait } from "../lib/index.ts";
import {
  endJournal,
  openJournal,
  type RestartPolicy,
  removeAtEnd,
  restartPolicies,
  runnerJournal,
  startWorkload,
  type Workload,
  type WorkloadSpec,
} from "../standalone/index.ts";
import { type Io, untilStopped } from "./command.ts";
import { exposeWorkload, serviceOf } from "./run/service.ts";
import { defaultDataDir, ownerOfDir } from "./up/data-dir.ts";
import { giveDataToUser } from "./up/data-owner.ts";
import { createMeshClient } from "./up/mesh-client.ts";
import { type NetworkFile, readNetworkFile } from "./up/mesh-network.ts";
import { isInside, runBeside } from "./up/user-namespace.ts";
import { createWorkloadHost } from "./up/workload-host.ts";

interface RunFlags {
  readonly name: string;
  readonly port: readonly string[];
  readonly expose?: boolean;
  readonly service?: string;
  readonly labels?: string;
  readonly annotation: readonly string[];
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly restart?: string;
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
    .option("--port <port...>", "port that the command listens on; ready when the first is open; none for a client", [])
    .option("--expose", "make a Service of the same name for these ports, so that others reach it")
    .option("--service <name>", "make a Service of this name for these ports")
    .option("--labels <labels>", "comma-separated key=value pairs; Services select Pods by them")
    .option("--annotation <key=value>", "as on a Pod, such as proxy.istio.io/config=…; may be given again", collect, [])
    .option("-n, --namespace <namespace>", "namespace of the Pod", "default")
    .option("--service-account <name>", "account whose identity the Pod has", "default")
    .option(
      "--restart <policy>",
      `when the command is started again: ${restartPolicies.join(", ")} (default: Always; Never without --port)`,
    )
    .option("--data <dir>", "data folder of the running `fairlead up`")
    .argument("<command...>", "the command, after --")
    .addHelpText(
      "after",
      "\nExamples:\n  sudo fairlead run --name web --labels app=web,version=v1 --port 8000 --expose -- python3 -m http.server 8000\n" +
        "  sudo fairlead run --name client -- curl -s http://web:8000/\n",
    )
    .passThroughOptions()
    .action(async (command: readonly string[], flags: RunFlags) => exit(await run(command, flags, io)));
}

async function run(command: readonly string[], flags: RunFlags, io: Io): Promise<number> {
  const log = createLogger({ write: (line) => io.err(`${line}\n`), now: () => new Date() });
  const spec = workloadSpec(command, flags);
  requireCommand(command, io);
  const dir = findMesh(flags.data ?? defaultDataDir(io.env));
  const owner = ownerOfDir(dir);
  if (!owner)
    throw new FairleadError("not-found", `no standalone mesh runs on ${dir}`, { hint: "start it with `fairlead up`" });
  if (process.getuid?.() !== 0 && !isInside(io)) return await runBeside(owner.pid, runArgs(command, flags), io);
  const { plan, discoveryAddress } = requireNetwork(dir);
  const client = await createMeshClient(dir);
  const journal = openJournal(
    join(dir, "run"),
    runnerJournal(process.pid),
    ownerOf(process.pid) ?? { pid: process.pid, started: "" },
  );
  try {
    const host = createWorkloadHost({
      client,
      plan,
      journal,
      discoveryAddress,
      dir,
      io,
      log,
      echo: (source, text) => io.err(`[${source}] ${text}\n`),
    });
    await provideService(client, spec, flags, io);
    const workload = await startWorkload(host, spec, io.signal);
    void tellReady(workload, spec, io);
    try {
      const ended = await Promise.race([
        workload.ended,
        untilStopped(io.signal).then(() => 0 as const),
        ...(isInside(io) ? [untilGone(owner, io.signal)] : []),
      ]);
      if (ended === "deleted") io.err(`${spec.namespace}/${spec.name} was deleted\n`);
      if (ended === "gone") io.err(`${spec.namespace}/${spec.name} ends with the mesh that it had joined\n`);
      return ended === "deleted" ? 0 : ended === "gone" ? 1 : ended;
    } finally {
      await workload.stop();
    }
  } finally {
    client.close();
    await endJournal(journal);
    // Of a mesh that has ended before, the last process removes the network.
    await removeAtEnd(join(dir, "run"), log).catch((error: unknown) => log.warn(String(error)));
    giveDataToUser(dir, io.env);
  }
}

/** A Pod alone has no name that others can ask for. */
async function provideService(client: KubeClient, spec: WorkloadSpec, flags: RunFlags, io: Io): Promise<void> {
  const name = flags.service ?? (flags.expose ? spec.name : undefined);
  if (name !== undefined) await exposeWorkload(client, name, spec);
  else if (spec.ports.length > 0 && (await serviceOf(client, spec)) === undefined)
    io.err(`no Service selects ${spec.namespace}/${spec.name} yet: --expose makes one, so that others can reach it\n`);
}

/** Without root, the mesh's network lives in namespaces of its own: the next `up` has others, and nobody can move there. */
async function untilGone(owner: Owner, signal: AbortSignal): Promise<"gone"> {
  while (isAlive(owner) && !signal.aborted) await wait(1_000, signal).catch(() => {});
  return "gone";
}

const readyMs = 60_000;

/** Says so when it is ready, and now and then why it is not yet. */
async function tellReady(workload: Workload, spec: WorkloadSpec, io: Io): Promise<void> {
  const name = `${spec.namespace}/${spec.name}`;
  while (!io.signal.aborted)
    try {
      await workload.ready(readyMs);
      io.err(`${name} is ready at ${workload.address}\n`);
      return;
    } catch (thrown) {
      if (!io.signal.aborted) io.err(`${name}: ${FairleadError.from(thrown).message}\n`);
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
    ...flags.annotation.flatMap((pair) => ["--annotation", pair]),
    ...given("--data", flags.data),
    ...given("--restart", flags.restart),
    ...(flags.expose ? ["--expose"] : []),
    ...given("--service", flags.service),
    ...flags.port.flatMap((port) => ["--port", port]),
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
  if (ports.length === 0 && (flags.expose || flags.service !== undefined))
    throw new FairleadError("usage", "a Service needs a port", { hint: "say where the command listens with --port" });
  return {
    name: flags.name,
    namespace: flags.namespace,
    labels: parsePairs("--labels", (flags.labels ?? `app=${flags.name}`).split(",")),
    annotations: parsePairs("--annotation", flags.annotation),
    serviceAccount: flags.serviceAccount,
    ports,
    type: "sidecar",
    command,
    env: { PORT: String(ports[0] ?? "") },
    restartPolicy: restartPolicy(flags.restart ?? (ports.length === 0 ? "Never" : "Always")),
  };
}

function restartPolicy(text: string): RestartPolicy {
  const found = restartPolicies.find((policy) => policy === text);
  if (found) return found;
  throw new FairleadError("usage", `--restart: ${text} is no restart policy`, {
    hint: `give one of ${restartPolicies.join(", ")}`,
  });
}

/** A command that is not there would only be started again and again. */
function requireCommand([name = ""]: readonly string[], io: Io): void {
  const folders = name.includes("/") ? [""] : (io.env["PATH"] ?? "").split(delimiter);
  const found = folders.some((folder) => isExecutable(folder === "" ? resolve(io.cwd, name) : join(folder, name)));
  if (!found) throw new FairleadError("usage", `${name}: no such command`, { hint: "name one that is on the PATH" });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const collect = (pair: string, before: readonly string[]): readonly string[] => [...before, pair];

function parsePairs(flag: string, texts: readonly string[]): Readonly<Record<string, string>> {
  const pairs = texts
    .filter((pair) => pair !== "")
    .map((pair) => {
      const at = pair.indexOf("=");
      if (at < 1) throw new FairleadError("usage", `${flag}: ${pair} is not key=value`);
      return [pair.slice(0, at), pair.slice(at + 1)] as const;
    });
  return Object.fromEntries(pairs);
}

function findMesh(path: string): string {
  if (readNetworkFile(path)) return realpathSync(path);
  throw new FairleadError("not-found", `no standalone mesh runs on ${path}`, {
    hint: "start one with `sudo fairlead up`, or name its folder with --data DIR",
  });
}

function requireNetwork(dir: string): { plan: NetworkFile["plan"]; discoveryAddress: string } {
  const file = readNetworkFile(dir);
  if (file?.discoveryAddress) return { plan: file.plan, discoveryAddress: file.discoveryAddress };
  throw new FairleadError("no-permission", "that mesh has no network: `fairlead up` was started without root", {
    hint: "start it with sudo",
  });
}
