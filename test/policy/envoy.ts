/** Listeners in; a running Envoy that sends their traffic to a small application out. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
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
  const server = createServer({ maxHeaderSize: 128 * 1024 }, handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, port: (server.address() as AddressInfo).port };
}

/**
 * An address of loopback that belongs to this process alone, and ports below those that the system gives out: nobody
 * else can be in the way.
 */
const place = process.pid;
export const ownAddress = `127.${1 + (Math.floor(place / 64_000) % 100)}.${Math.floor(place / 250) % 256}.${1 + (place % 250)}`;
export const ownPorts = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => 21_000 + i);
const adminPort = 20_999;

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

/** `more`: of the bootstrap, where listeners come over xDS. */
export async function startEnvoy(
  listeners: readonly Json[],
  clusters: readonly Json[],
  more: Json = {},
): Promise<RunningEnvoy> {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-policy-"));
  const file = join(dir, "bootstrap.json");
  writeFileSync(
    file,
    JSON.stringify({
      node: { id: "test", cluster: "test" },
      admin: { address: { socketAddress: { address: ownAddress, portValue: adminPort } } },
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
      ...more,
    }),
    { mode: 0o600 },
  );
  const envoy = spawn(findEnvoy() ?? "", ["-c", file, "-l", "error", "--concurrency", "1", "--use-dynamic-base-id"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  envoy.stderr?.on("data", (chunk) => {
    log += chunk;
  });
  await ready(envoy, () => log);
  return {
    pid: envoy.pid ?? 0,
    alive: () => envoy.exitCode === null && envoy.signalCode === null,
    async close() {
      if (envoy.exitCode === null && envoy.signalCode === null) {
        envoy.kill("SIGKILL");
        await once(envoy, "exit");
      }
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

export const askAdmin = async (path: string): Promise<string> =>
  (await fetch(`http://${ownAddress}:${adminPort}${path}`)).text();

async function ready(envoy: ChildProcess, log: () => string): Promise<void> {
  const deadline = performance.now() + 120_000;
  while (performance.now() < deadline) {
    if (envoy.exitCode !== null) throw new Error(`Envoy ended with ${envoy.exitCode}: ${log().slice(-2000)}`);
    if ((await askAdmin("/ready").catch(() => "")).startsWith("LIVE")) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`Envoy is not ready: ${log().slice(-2000)}`);
}
