/** A choice in; a control plane to be measured, with the API that it reads, out. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface Server {
  readonly name: string;
  readonly kubeconfig: string;
  readonly plain: Address;
  readonly secure: Address | undefined;
  /** Where it is scraped. */
  readonly monitoring: Address | undefined;
  /** Where the API server calls it. */
  readonly webhooks?: Address;
  /** The process that was started here. */
  readonly pid?: number | undefined;
  stop(): Promise<void>;
}

const root = join(import.meta.dirname, "../..");
const fairlead = [join(root, "fairlead")];
const anyPort = "127.0.0.1:0";
const portFlags = ["--grpcAddr", "--secureGRPCAddr", "--monitoringAddr", "--httpsAddr", "--httpAddr"];

/** The embedded API and the control plane on it, as a user starts them. */
export async function startStandalone(): Promise<Server> {
  const data = mkdtempSync(join(tmpdir(), "fairlead-bench-"));
  const ports = ["--api-addr", ...portFlags].flatMap((flag) => [flag, anyPort]);
  const child = start(["up", "--data", data, "--log_output_level", "default:warn", ...ports]);
  await untilReady(child);
  const addresses = readAddresses(join(data, "addresses.json"));
  return {
    name: "fairlead",
    kubeconfig: join(data, "kubeconfig"),
    ...portsOf(addresses),
    pid: child.pid,
    async stop() {
      await end(child);
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/** The control plane alone, on an API that is there. */
export async function startDiscovery(kubeconfig: string): Promise<Server> {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-bench-"));
  const bound = join(dir, "bound.json");
  const ports = portFlags.flatMap((flag) => [flag, anyPort]);
  const child = start([
    "discovery",
    "--kubeconfig",
    kubeconfig,
    "--bound-addresses",
    bound,
    "--log_output_level",
    "default:warn",
    ...ports,
  ]);
  const addresses = await eventually(() => readAddresses(bound), child);
  return {
    name: "fairlead",
    kubeconfig,
    ...portsOf(addresses),
    async stop() {
      await end(child);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** One that somebody else has started, on the same API. */
export function other(
  name: string,
  kubeconfig: string,
  plain: Address,
  secure?: Address,
  monitoring?: Address,
): Server {
  return { name, kubeconfig, plain, secure, monitoring, stop: async () => {} };
}

export function parseAddress(text: string): Address {
  const at = text.lastIndexOf(":");
  return { host: text.slice(0, at) || "127.0.0.1", port: Number(text.slice(at + 1)) };
}

const portsOf = (addresses: Readonly<Record<string, string>>) => ({
  plain: parseAddress(addresses.grpc ?? ""),
  secure: parseAddress(addresses.secureGrpc ?? ""),
  monitoring: parseAddress(addresses.monitoring ?? ""),
  webhooks: parseAddress(addresses.https ?? ""),
});

function start(args: readonly string[]): ChildProcess {
  const [command = "", ...rest] = [...fairlead, ...args];
  const output = process.env.BENCH_VERBOSE ? "inherit" : "ignore";
  return spawn(command, rest, { cwd: root, stdio: ["ignore", "pipe", output] });
}

function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.stdout?.on("data", (chunk: Buffer) => {
      if (chunk.toString().includes("ready")) resolve();
    });
    child.once("exit", (code) => reject(new Error(`fairlead ended with status ${code}`)));
  });
}

const readAddresses = (file: string): Readonly<Record<string, string>> => JSON.parse(readFileSync(file, "utf8"));

async function eventually<T>(read: () => T, child: ChildProcess): Promise<T> {
  for (;;) {
    try {
      return read();
    } catch {
      if (child.exitCode !== null) throw new Error(`fairlead ended with status ${child.exitCode}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await gone;
}
