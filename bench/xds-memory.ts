// Peak memory of the ADS server while many proxies are sent the same large config, twice.
// node bench/xds-memory.ts [streams=1000] [kilobytes=1024] [plain|tls] [connections=streams]
import { fork } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { DeltaDiscoveryRequestSchema } from "../src/gen/envoy/service/discovery/v3/discovery_pb.js";
import { silentLogger } from "../src/lib/index.ts";
import { types } from "../src/model/index.ts";
import { createRpcClient, createRpcServer } from "../src/rpc/index.ts";
import { createTestAuthority } from "../src/rpc/testing.ts";
import { createAds, deltaMethod } from "../src/xds/index.ts";
import { createMemorySource, resource } from "../src/xds/testing.ts";

const [streams, kilobytes] = [Number(process.argv[2] ?? 1000), Number(process.argv[3] ?? 1024)];
const secure = process.argv[4] === "tls";
const connections = Number(process.argv[5] ?? streams);

/** The proxies, in a process of their own, reading one response after the other. */
async function runClients(port: number): Promise<void> {
  const tls = secure ? { tls: () => ({ insecure: true }) } : {};
  const clients = Array.from({ length: connections }, () =>
    createRpcClient({ target: { host: "127.0.0.1", port }, ...tls }),
  );
  const one = async (i: number): Promise<void> => {
    const stream = await clients[i % connections]?.stream(deltaMethod);
    if (!stream) return;
    const node = { id: `sidecar~10.0.${i >> 8}.${i & 255}~p${i}.default~default.svc.cluster.local` };
    await stream.send(create(DeltaDiscoveryRequestSchema, { node, typeUrl: types.cluster }));
    for await (const response of stream.messages) {
      await stream.send(create(DeltaDiscoveryRequestSchema, { typeUrl: types.cluster, responseNonce: response.nonce }));
      process.send?.("got");
    }
  };
  await Promise.allSettled(Array.from({ length: streams }, (_, i) => one(i)));
}

async function runServer(): Promise<void> {
  const source = createMemorySource();
  const put = (): void =>
    source.set({
      [types.cluster]: Array.from({ length: 16 }, (_, i) => resource(`c${i}`, randomBytes(kilobytes * 64))),
    });
  put();
  const ads = createAds({
    source,
    identifier: "bench",
    ready: () => true,
    log: silentLogger,
    now: () => new Date(),
    uuid: randomUUID,
  });
  const tls = secure ? { tls: createTestAuthority().issue("DNS:localhost") } : {};
  const server = createRpcServer({ routes: ads.routes(() => undefined), log: silentLogger, ...tls });
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  const before = process.memoryUsage().rss;
  const clients = fork(import.meta.filename, process.argv.slice(2), {
    env: { ...process.env, BENCH_PORT: String(port) },
  });
  let got = 0;
  const all = (count: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setInterval(() => {
        if (got < count) return;
        clearInterval(timer);
        resolve();
      }, 5);
    });
  clients.on("message", () => got++);
  let started = performance.now();
  await all(streams);
  const first = performance.now() - started;
  started = performance.now();
  put();
  await all(2 * streams);
  const second = performance.now() - started;
  const megabytes = (bytes: number): number => Math.round(bytes / 1024 / 1024);
  console.log(
    JSON.stringify({
      streams,
      kilobytes,
      connections,
      transport: secure ? "tls" : "plain",
      rssBeforeMb: megabytes(before),
      peakRssMb: megabytes(process.resourceUsage().maxRSS * 1024),
      connectAndFirstPushMs: Math.round(first),
      pushMs: Math.round(second),
    }),
  );
  clients.kill();
  process.exit(0);
}

if (process.env.BENCH_PORT) await runClients(Number(process.env.BENCH_PORT));
else await runServer();
