/** R06: clients that connect to a sniffed port and say nothing cost next to nothing, and with a timeout they get through. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { freePort } from "../free-ports.ts";
import { findEnvoy, lacks } from "../require.ts";
import { fewTurns, workerTurns } from "../worker-turns.ts";
import { istio, pod } from "./objects.ts";
import { type Json, renderProxy } from "./offline.ts";

const clients = 500;

interface Upstream {
  readonly server: Server;
  readonly port: number;
  /** Settles when that many connections have arrived. */
  reached(count: number): Promise<void>;
}

async function startUpstream(): Promise<Upstream> {
  let arrived = 0;
  const server = createServer((socket) => {
    arrived++;
    socket.on("error", () => {});
    server.emit("arrived");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    server,
    port,
    async reached(count) {
      while (arrived < count) await once(server, "arrived");
    },
  };
}

/** A sidecar's ingress port whose protocol is not declared, on a real socket, in plain text. */
async function sniffedPort(port: number, upstream: number, protocolDetectionTimeout: string): Promise<Json> {
  const ingress = {
    port: { number: port, protocol: "", name: "x" },
    bind: "127.0.0.1",
    captureMode: "NONE",
    defaultEndpoint: `127.0.0.1:${upstream}`,
  };
  const objects = [
    pod("web", { proxy: "sidecar" }),
    istio("Sidecar", "s", { ingress: [ingress], egress: [{ hosts: ["~/*"] }] }),
    istio("PeerAuthentication", "p", { mtls: { mode: "DISABLE" } }),
  ];
  const { listeners, clusters } = await renderProxy({ objects, profile: "envoy", mesh: { protocolDetectionTimeout } });
  const listener = listeners.get(`127.0.0.1_${port}`);
  return { staticResources: { listeners: [listener], clusters: [clusters.get(`inbound|${port}||`)] } };
}

function spawnEnvoy(dir: string, bootstrap: Json) {
  const file = join(dir, "bootstrap.json");
  const admin = { address: { pipe: { path: join(dir, "admin") } } };
  // The counts of histograms are brought up to date at each flush.
  const own = { node: { id: "n", cluster: "c" }, admin, enableDispatcherStats: true, statsFlushInterval: "0.1s" };
  writeFileSync(file, JSON.stringify({ ...own, ...bootstrap }));
  const args = ["-c", file, "--concurrency", "1", "--use-dynamic-base-id", "-l", "info"];
  return spawn(findEnvoy() ?? "", args, { stdio: ["ignore", "ignore", "pipe"] });
}

async function started({ stderr }: ReturnType<typeof spawnEnvoy>): Promise<void> {
  let log = "";
  for await (const chunk of stderr) {
    log += chunk;
    if (log.includes("starting main dispatch loop")) return;
  }
  throw new Error(`Envoy did not start: ${log.slice(-2000)}`);
}

async function openClients(port: number): Promise<readonly Socket[]> {
  const sockets = Array.from({ length: clients }, () => connect(port, "127.0.0.1"));
  for (const socket of sockets) socket.on("error", () => {});
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  return sockets;
}

async function turns(dir: string): Promise<number> {
  const request = http.get({ socketPath: join(dir, "admin"), path: "/stats/prometheus", headers: { host: "admin" } });
  const [response] = (await once(request, "response")) as [http.IncomingMessage];
  return workerTurns(await text(response));
}

describe.skipIf(lacks("envoy"))(`${clients} clients that say nothing`, () => {
  const cleanups: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  async function scene(protocolDetectionTimeout: string) {
    const dir = mkdtempSync(join(tmpdir(), "fairlead-silent-"));
    cleanups.push(() => rmSync(dir, { recursive: true, force: true }));
    const upstream = await startUpstream();
    cleanups.push(() => upstream.server.close());
    const port = await freePort();
    const envoy = spawnEnvoy(dir, await sniffedPort(port, upstream.port, protocolDetectionTimeout));
    cleanups.push(async () => {
      const exited = once(envoy, "exit");
      // False: it has ended by itself.
      if (envoy.kill("SIGKILL")) await exited;
    });
    await started(envoy);
    const sockets = await openClients(port);
    cleanups.push(() => {
      for (const socket of sockets) socket.destroy();
    });
    return { upstream, sockets, dir };
  }

  test("wake no worker while they wait", { timeout: 300_000 }, async () => {
    const { dir } = await scene("0s");
    const before = await turns(dir);
    await delay(2000);
    expect((await turns(dir)) - before).toBeLessThan(fewTurns);
  });

  test("reach the application once detection has timed out", { timeout: 300_000 }, async () => {
    const { upstream, sockets } = await scene("1s");
    await upstream.reached(clients);
    expect(sockets.every((socket) => !socket.destroyed)).toBe(true);
  });
});
