/** Listeners in; a running Envoy that sends their traffic to a small application out. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Json } from "../render/offline.ts";
import { findEnvoy } from "../require.ts";

export interface RunningEnvoy {
  readonly pid: number;
  alive(): boolean;
  close(): Promise<void>;
}

export async function startHttp(handler: RequestListener): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, port: (server.address() as AddressInfo).port };
}

/** Ports that are free now, all at once, so that none is given twice. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createTcpServer());
  await Promise.all(servers.map((server) => new Promise<void>((done) => server.listen(0, "127.0.0.1", done))));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}

export const staticCluster = (name: string, port: number): Json => ({
  name,
  type: "STATIC",
  connectTimeout: "5s",
  loadAssignment: {
    clusterName: name,
    endpoints: [
      {
        lbEndpoints: [{ endpoint: { address: { socketAddress: { address: "127.0.0.1", portValue: port } } } }],
      },
    ],
  },
});

export async function startEnvoy(listeners: readonly Json[], clusters: readonly Json[]): Promise<RunningEnvoy> {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-policy-"));
  const [adminPort = 0] = await freePorts(1);
  const file = join(dir, "bootstrap.json");
  writeFileSync(
    file,
    JSON.stringify({
      node: { id: "test", cluster: "test" },
      admin: { address: { socketAddress: { address: "127.0.0.1", portValue: adminPort } } },
      layeredRuntime: {
        layers: [
          {
            name: "as the agent's bootstrap",
            staticLayer: {
              "re2.max_program_size.error_level": 32768,
              "envoy.reloadable_features.http_reject_path_with_fragment": false,
            },
          },
        ],
      },
      staticResources: { listeners, clusters },
    }),
    { mode: 0o600 },
  );
  const process = spawn(findEnvoy() ?? "", ["-c", file, "-l", "error", "--concurrency", "1", "--use-dynamic-base-id"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  process.stderr?.on("data", (chunk) => {
    log += chunk;
  });
  await ready(process, adminPort, () => log);
  return {
    pid: process.pid ?? 0,
    alive: () => process.exitCode === null && process.signalCode === null,
    async close() {
      if (process.exitCode === null && process.signalCode === null) {
        process.kill("SIGKILL");
        await once(process, "exit");
      }
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function ready(process: ChildProcess, port: number, log: () => string): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (performance.now() < deadline) {
    if (process.exitCode !== null) throw new Error(`Envoy ended with ${process.exitCode}: ${log().slice(-2000)}`);
    const answer = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => undefined);
    if (answer?.status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`Envoy is not ready: ${log().slice(-2000)}`);
}
