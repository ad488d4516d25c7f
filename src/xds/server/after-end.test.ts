/** Requests that are still on their way to their stream's state when that stream has ended: nothing may come of them. */
import { pbkdf2, randomUUID } from "node:crypto";
import { once } from "node:events";
import { type ClientHttp2Stream, connect } from "node:http2";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";
import { gunzip, gzipSync } from "node:zlib";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { afterEach, expect, test } from "vitest";
import {
  DeltaDiscoveryRequestSchema,
  type DeltaDiscoveryResponse,
  DeltaDiscoveryResponseSchema,
} from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { silentLogger } from "../../lib/index.ts";
import { types } from "../../model/index.ts";
import { createFrames } from "../../rpc/frame.ts";
import { createRpcServer } from "../../rpc/index.ts";
import { noMetrics } from "../metrics.ts";
import type { ResourceSource } from "../source.ts";
import { createMemorySource, resource } from "../testing.ts";
import { createAds } from "./ads.ts";
import type { AdsOptions } from "./ads-options.ts";

const path = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
const node = {
  id: "sidecar~10.0.0.1~pod.default~default.svc.cluster.local",
  metadata: { NAMESPACE: "default", INSTANCE_IPS: "10.0.0.1" },
};
const first = { node, typeUrl: types.cluster };

const derive = promisify(pbkdf2);
/** Until it resolves, nothing is inflated: each thread that could do so has other work. */
const busyThreads = async (): Promise<void> => {
  await Promise.all(Array.from({ length: threads }, () => derive("", "", 200_000, 32, "sha256")));
};
const threads = Number(process.env["UV_THREADPOOL_SIZE"] ?? 4);

/** For each thing that is waited for: what has not come by then does not come. */
const limit = (): AbortSignal => AbortSignal.timeout(30_000);

const open: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).reverse()) await end();
});

async function start(options: Partial<AdsOptions> = {}) {
  const memory = createMemorySource();
  memory.set({ [types.cluster]: [resource("a", "a")] });
  const gauges = new Map<string, number>();
  let isAsked = false;
  const ads = createAds({
    ...{
      source: memory,
      identifier: "test",
      ready: () => true,
      log: silentLogger,
      now: () => new Date(),
      uuid: randomUUID,
    },
    metrics: {
      ...noMetrics,
      set: (name, value) => void gauges.set(name, value),
      remove: (name) => void gauges.delete(name),
    },
    ...options,
  });
  const authenticate = (): undefined => {
    isAsked = true;
  };
  const server = createRpcServer({ routes: ads.routes(authenticate), log: silentLogger });
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  const session = connect(`http://127.0.0.1:${port}`);
  open.push(
    () => server.close(),
    () => session.close(),
  );
  const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc", "grpc-encoding": "gzip" };
  const idle = (): Promise<void> => until(() => server.load().calls === 0);
  /** With its connection: of a reset alone, nobody hears who has stopped reading. */
  const goes = (): Promise<void> => {
    session.destroy();
    return idle();
  };
  const call = (): ClientHttp2Stream =>
    session
      .request(headers)
      .on("error", () => {})
      .resume();
  return { ads, memory, gauges, call, asked: () => until(() => isAsked), idle, goes };
}

async function until(holds: () => boolean): Promise<void> {
  const signal = limit();
  while (!holds()) await nextTurn(undefined, { signal });
}

function framed(request: MessageInitShape<typeof DeltaDiscoveryRequestSchema>, compressed: boolean): Buffer {
  const bytes = toBinary(DeltaDiscoveryRequestSchema, create(DeltaDiscoveryRequestSchema, request));
  const body = compressed ? gzipSync(bytes) : bytes;
  const head = Buffer.alloc(5);
  head[0] = compressed ? 1 : 0;
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

/** Also those that waited for a thread. */
async function inflateAll(busy: Promise<void>): Promise<void> {
  await busy;
  await promisify(gunzip)(gzipSync(""));
  await nextTurn();
}

test("one that is inflated when its client has gone opens no proxy", async () => {
  const { ads, memory, call, asked, goes } = await start();
  const busy = busyThreads();
  const stream = call();
  stream.write(framed(first, true));
  await asked();
  await roundTrip(stream);
  await goes();
  await inflateAll(busy);
  expect([...ads.connected()]).toEqual([]);
  expect(memory.connected).toEqual([]);
});

test("a refusal that is inflated when its client has gone is not counted", async () => {
  const { gauges, call, goes } = await start();
  const stream = call();
  stream.write(framed(first, false));
  const { nonce: responseNonce } = await response(stream);
  const busy = busyThreads();
  stream.write(framed({ typeUrl: types.cluster, responseNonce, errorDetail: { code: 13, message: "bad" } }, true));
  await roundTrip(stream);
  await goes();
  await inflateAll(busy);
  expect(gauges.get("pilot_xds_cds_reject")).toBeUndefined();
});

test("a first one that comes just after its deadline opens no proxy", async () => {
  const firstRequestMs = 100;
  const { ads, memory, call, asked, idle } = await start({ limits: { firstRequestMs } });
  const stream = call();
  await asked();
  stream.write(framed(first, false));
  // Sent, and not read yet, when the process stands still: then the deadline comes first.
  await nextTurn();
  const until = performance.now() + 2 * firstRequestMs;
  while (performance.now() < until);
  await once(stream, "close", { signal: limit() });
  await idle();
  expect([...ads.connected()]).toEqual([]);
  expect(memory.connected).toEqual([]);
});

test("one that waits for its class when the stream ends asks for nothing of it", async () => {
  const memory = createMemorySource();
  const ready = Promise.withResolvers<void>();
  const asked: string[] = [];
  const source: ResourceSource = {
    connect(...args) {
      const session = memory.connect(...args);
      return {
        ...session,
        ready: ready.promise,
        all: (type) => {
          asked.push(type);
          return session.all(type);
        },
      };
    },
  };
  const { ads, call, goes } = await start({ source });
  const stream = call();
  stream.write(
    framed(
      { ...first, typeUrl: types.endpoint, resourceNamesSubscribe: ["a"], initialResourceVersions: { a: "1" } },
      false,
    ),
  );
  await until(() => [...ads.connected()].length === 1);
  await goes();
  ready.resolve();
  await nextTurn();
  expect(asked).toEqual([]);
});

async function response(stream: ClientHttp2Stream): Promise<DeltaDiscoveryResponse> {
  const frames = createFrames(1_000_000);
  for (;;) {
    const [chunk] = await once(stream, "data", { signal: limit() });
    frames.push(chunk);
    const frame = frames.take();
    if (frame) return fromBinary(DeltaDiscoveryResponseSchema, frame.bytes);
  }
}

/** What was written before has come. */
async function roundTrip(stream: ClientHttp2Stream): Promise<void> {
  const { session } = stream;
  const signal = limit();
  await new Promise<void>((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    session?.ping((error) => (error ? reject(error) : resolve()));
  });
}
