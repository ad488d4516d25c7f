/** The files of `fairlead workload entry configure` in; a machine out that has joined with exactly these: a network namespace with Fairlead's agent. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRunCommand } from "../../src/agent/index.ts";
import { enterCommand } from "../../src/standalone/enter.ts";
import { startProcess } from "../../src/standalone/index.ts";
import { findEnvoy } from "../require.ts";
import { untilProxyReady } from "../swap/workload.ts";
import { startApp } from "../traffic/app.ts";
import { type Caller, startCaller } from "../traffic/caller.ts";
import type { TrafficNetwork } from "../traffic/network.ts";

export interface Machine {
  readonly caller: Caller;
  /** The addresses of a name, asked of a server that is not there. */
  resolve(name: string): Promise<string>;
  stopApp(): void;
  startApp(): Promise<void>;
  log(): string;
  /** Ends the agent as a machine does that loses its power. */
  vanish(): Promise<void>;
  close(): Promise<void>;
}

export interface MachineOptions {
  readonly at: Awaited<ReturnType<TrafficNetwork["pod"]>>;
  readonly network: TrafficNetwork;
  /** Where the files are. */
  readonly files: string;
  readonly name: string;
}

const fairlead = [process.execPath, join(import.meta.dirname, "../../dist/main.js")];
const proxyGroup = "1337";
/** Nobody answers there: only capture makes an answer of it. */
const nameServer = "192.0.2.53";

/** As Istio's guide has it: where the files go, and what is started with cluster.env in the environment. */
const joining = `
set -e
set -a; . ./cluster.env; set +a
"$@" iptables -p 15001 -z 15006 -u ${proxyGroup} -g ${proxyGroup} -m REDIRECT -i "$ISTIO_SERVICE_CIDR" \
  -b "$ISTIO_INBOUND_PORTS" -d "$ISTIO_LOCAL_EXCLUDE_PORTS" --redirect-dns --capture-all-dns > iptables.log
exec setpriv --regid=${proxyGroup} --clear-groups -- "$@" agent proxy sidecar --concurrency 1
`;

export async function startMachine({ at, network, files, name }: MachineOptions): Promise<Machine> {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-machine-"));
  const places = {
    "root-cert.pem": "etc/certs/root-cert.pem",
    "istio-token": "var/run/secrets/tokens/istio-token",
    "mesh.yaml": "etc/istio/config/mesh",
    "cluster.env": "cluster.env",
  };
  for (const [file, place] of Object.entries(places)) {
    mkdirSync(join(dir, place, ".."), { recursive: true });
    cpSync(join(files, file), join(dir, place));
  }
  writeFileSync(join(dir, "hosts"), `127.0.0.1 localhost\n${readFileSync(join(files, "hosts"), "utf8")}`);
  const { file, args } = enterCommand({ namespace: at.path, binds: [[join(dir, "hosts"), "/etc/hosts"]] }, [
    ...["sh", "-c", joining, "sh", ...fairlead],
  ]);
  const lines: string[] = [];
  const agent = startProcess({
    ...{ file, args, cwd: dir },
    env: {
      PATH: process.env.PATH ?? "/usr/bin",
      FAIRLEAD_ENVOY: findEnvoy() ?? "",
      PROV_CERT: "./etc/certs",
      OUTPUT_CERTS: "./etc/certs",
    },
    output: (line) => lines.push(line),
    journal: network.journal,
  });
  const ended = agent.exited.then((status) => {
    throw new Error(`the machine's agent ended with ${status}:\n${lines.slice(-20).join("\n")}`);
  });
  ended.catch(() => {});
  let stopApp = await startApp(at.path, name);
  await Promise.race([
    ended,
    untilProxyReady(name, at.address).catch((error) => {
      throw new Error(`${error.message}\n${lines.slice(-20).join("\n")}`);
    }),
  ]);
  const caller = startCaller(at.path);
  let isThere = true;
  const vanish = async (): Promise<void> => {
    isThere = false;
    await agent.stop(0);
  };
  return {
    caller,
    vanish,
    async resolve(host) {
      const script = `const { Resolver } = require("node:dns").promises; const r = new Resolver(); r.setServers(["${nameServer}"]);
        r.resolve4("${host}").then((found) => console.log(found.join()), (error) => console.log(error.code))`;
      return (await createRunCommand(at.path)(process.execPath, ["-e", script])).stdout.trim();
    },
    stopApp: () => stopApp(),
    async startApp() {
      stopApp = await startApp(at.path, name);
    },
    log: () => lines.join("\n"),
    async close() {
      caller.stop();
      stopApp();
      if (isThere) await agent.stop(20_000);
      await at.remove();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
