/** A data folder in; `fairlead up` on it, that can be killed and started again at the same addresses, out. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findEnvoy } from "../require.ts";

export interface Supervisor {
  pid(): number;
  addresses(): Readonly<Record<string, string>>;
  apiPid(): number;
  controlPlanePid(): number;
  edgePid(): number;
  /** Resolves when it serves. `under` is a command that runs it. */
  start(under?: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

export interface SupervisorOptions {
  readonly dir: string;
  readonly data: string;
  readonly entry: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Flag and name in addresses.json. */
const addressFlags = [
  ["--api-addr", "api"],
  ["--grpcAddr", "grpc"],
  ["--secureGRPCAddr", "secureGrpc"],
  ["--monitoringAddr", "monitoring"],
  ["--httpsAddr", "https"],
  ["--httpAddr", "http"],
] as const;

export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { data } = options;
  const readJson = (name: string): Record<string, string> => JSON.parse(readFileSync(join(data, name), "utf8"));
  let known: Readonly<Record<string, string>> = {};
  let child: ChildProcess | undefined;
  const pid = (): number => Number(readJson("lock").pid);
  return {
    pid,
    addresses: () => known,
    apiPid: () => childOf(pid(), "api"),
    controlPlanePid: () => childOf(pid(), "discovery"),
    edgePid: () => childOf(pid(), "edge"),
    async start(under = []) {
      const flags = addressFlags.flatMap(([flag, name]) => [flag, known[name] ?? "127.0.0.1:0"]);
      const up = [process.execPath, options.entry, "up", "--data", data, ...flags];
      const [program = "", ...args] = [...under, ...up];
      const log = openSync(join(options.dir, "up.log"), "a");
      const started = spawn(program, args, {
        env: { ...process.env, FAIRLEAD_ENVOY: findEnvoy() ?? "", ...options.env },
        stdio: ["ignore", "pipe", log],
      });
      closeSync(log);
      child = started;
      await untilReady(started);
      known = readJson("addresses.json");
    },
    async stop() {
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      // It may be told to end before it has written down who it is.
      if (existsSync(join(data, "lock"))) process.kill(pid(), "SIGTERM");
      else child.kill("SIGTERM");
      await ended;
    },
  };
}

function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = "";
    child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      said += chunk;
      if (said.includes("ready\n")) resolve();
    });
    child.once("exit", (code, signal) => reject(new Error(`up ended with ${code ?? signal} before it was ready`)));
  });
}

/** The process of one of our commands that this one has started. */
function childOf(parent: number, command: string): number {
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const [, parentPid] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (Number(parentPid) !== parent) continue;
      if (readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0").includes(command)) return Number(name);
    } catch {
      // Gone meanwhile.
    }
  }
  throw new Error(`no ${command} runs`);
}
