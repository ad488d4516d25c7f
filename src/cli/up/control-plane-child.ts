/** The control plane as a child process, started again with back-off when it ends; workloads do not notice. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createBackoff, FairleadError, isRecord, type Logger, parseJson, wait } from "../../lib/index.ts";
import { type Journal, type Running, startProcess } from "../../standalone/index.ts";
import { formatAddress, type ListenAddress } from "../listen-address.ts";

export interface ChildOptions {
  readonly dir: string;
  readonly kubeconfig: string;
  /** By istiod's flag name. */
  readonly addresses: ReadonlyMap<string, ListenAddress>;
  /** `host:port` on the mesh network that TLS is served at as well. */
  readonly meshAddress: string | undefined;
  readonly domain: string;
  readonly fairlead: readonly string[];
  readonly journal: Journal;
  readonly log: Logger;
  readonly line: (text: string) => void;
  readonly random: () => number;
  /** Ends the wait for the first start. */
  readonly signal: AbortSignal;
}

export interface ControlPlaneChild {
  readonly pid: () => number;
  /** Bound addresses by name: grpc, secureGrpc, monitoring, https, http. */
  readonly addresses: ReadonlyMap<string, string>;
  stop(): Promise<void>;
}

const flagNames: ReadonlyMap<string, string> = new Map([
  ["grpc", "--grpcAddr"],
  ["secureGrpc", "--secureGRPCAddr"],
  ["monitoring", "--monitoringAddr"],
  ["https", "--httpsAddr"],
  ["http", "--httpAddr"],
]);

export async function startControlPlane(
  options: ChildOptions,
  restarted: (pid: number) => void,
): Promise<ControlPlaneChild> {
  const boundFile = join(options.dir, "run", "control-plane-addresses.json");
  let current = launch(options, boundFile, undefined);
  let addresses = await waitForAddresses(current, boundFile, options.signal);
  let stopping = false;
  const backoff = createBackoff({ minMs: 100, maxMs: 10_000, random: options.random });

  const watch = async (): Promise<void> => {
    while (!stopping) {
      const started = performance.now();
      const status = await current.exited;
      if (stopping) return;
      // One that ran for a while was fine: begin again with a short wait.
      if (performance.now() - started > 30_000) backoff.reset();
      const waitMs = backoff.nextMs();
      options.log.warn(`the control plane ended with ${status}; starting it again in ${Math.round(waitMs)} ms`);
      await wait(waitMs);
      if (stopping) return;
      // The same ports as before, or nobody would find it.
      current = launch(options, boundFile, addresses);
      restarted(current.pid);
      addresses = await waitForAddresses(current, boundFile, options.signal).catch(() => addresses);
    }
  };
  void watch();
  return {
    pid: () => current.pid,
    addresses,
    async stop() {
      stopping = true;
      await current.stop(10_000);
    },
  };
}

function launch(options: ChildOptions, boundFile: string, bound: ReadonlyMap<string, string> | undefined): Running {
  rmSync(boundFile, { force: true });
  const flags = [...flagNames].flatMap(([name, flag]) => {
    const wanted = options.addresses.get(name);
    return [flag, bound?.get(name) ?? (wanted ? formatAddress(wanted) : "127.0.0.1:0")];
  });
  const extra = options.meshAddress === undefined ? [] : ["--extra-secure-addr", options.meshAddress];
  const [file = "", ...args] = options.fairlead;
  return startProcess({
    file,
    args: [
      ...args,
      "discovery",
      "--kubeconfig",
      options.kubeconfig,
      "--domain",
      options.domain,
      "--bound-addresses",
      boundFile,
      ...flags,
      ...extra,
    ],
    env: {
      PILOT_ENABLE_ANALYSIS: "true",
      ...Object.fromEntries(
        Object.entries(process.env).flatMap(([key, value]) =>
          value === undefined || key === "KUBECONFIG" ? [] : [[key, value]],
        ),
      ),
      // No other control plane lives on this API, so one that starts after another goes on with its locks at once.
      POD_NAME: "istiod",
    },
    output: options.line,
    journal: options.journal,
  });
}

async function waitForAddresses(
  child: Running,
  file: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  let ended: number | string | undefined;
  void child.exited.then((status) => {
    ended = status;
  });
  const deadline = performance.now() + 30_000;
  while (performance.now() < deadline) {
    if (ended !== undefined)
      throw new FairleadError("unavailable", `the control plane ended with ${ended} while starting`, {
        hint: "its last lines above say why",
      });
    const found = readAddresses(file);
    if (found) return found;
    await wait(20, signal);
  }
  throw new FairleadError("timeout", "the control plane did not start in 30 s", {
    hint: "its last lines above say why",
  });
}

function readAddresses(file: string): ReadonlyMap<string, string> | undefined {
  try {
    const value = parseJson(readFileSync(file, "utf8"));
    if (!isRecord(value)) return undefined;
    return new Map(Object.entries(value).map(([name, address]) => [name, String(address)]));
  } catch {
    return undefined;
  }
}
