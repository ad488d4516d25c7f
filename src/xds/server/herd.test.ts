/** Many that come at once, and readers that take nothing: who is written to first, and how much is made for whom, counted. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import http2, { type ClientHttp2Session } from "node:http2";
import { setImmediate as nextTurn } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterEach, expect, test } from "vitest";
import { AggregatedDiscoveryService } from "../../gen/envoy/service/discovery/v3/ads_pb.js";
import {
  DeltaDiscoveryRequestSchema,
  DiscoveryRequestSchema,
  type DiscoveryResponse,
} from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { silentLogger } from "../../lib/index.ts";
import { type ResourceType, types } from "../../model/index.ts";
import { messageChunks } from "../../rpc/frame.ts";
import { type ClientStream, createRpcClient, createRpcServer, protoMethod } from "../../rpc/index.ts";
import { noMetrics } from "../metrics.ts";
import type { ResourceSource } from "../source.ts";
import { createMemorySource, resource } from "../testing.ts";
import { createAds } from "./ads.ts";
import type { AdsLimits } from "./ads-options.ts";

const { cluster: CDS, listener: LDS, endpoint: EDS } = types;
const method = protoMethod(AggregatedDiscoveryService.method.streamAggregatedResources);
const deltaMethod = protoMethod(AggregatedDiscoveryService.method.deltaAggregatedResources);
/** More than a window and all buffers between the two ends take. */
const large = 8_000_000;
const open: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).reverse()) await end();
});

async function start(limits: Partial<AdsLimits>, served: (source: ResourceSource) => ResourceSource = (one) => one) {
  const source = createMemorySource();
  /** Responses by type in the order in which they were written, and how many were begun. */
  const written: string[] = [];
  let begun = 0;
  const ads = createAds({
    ...{ source: served(source), identifier: "test", ready: () => true, log: silentLogger, limits },
    ...{ now: () => new Date(), uuid: randomUUID },
    metrics: {
      ...noMetrics,
      count: (name, labels) => void (name === "pilot_xds_pushes" && written.push(labels?.type ?? "")),
      observe: (name) => void (name === "pilot_proxy_queue_time" && begun++),
    },
  });
  const server = createRpcServer({ routes: ads.routes(() => undefined), log: silentLogger });
  open.push(() => server.close());
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  let last = 0;
  /** A proxy on a connection of its own that asks for one type. */
  async function connect(typeUrl: ResourceType, names: readonly string[] = []): Promise<Proxy> {
    const client = createRpcClient({ target: { host: "127.0.0.1", port } });
    open.push(() => client.close());
    const stream = await client.stream(method);
    const id = nodeId(`p${++last}`);
    const node = { id, metadata: { NAMESPACE: "default", SERVICE_ACCOUNT: "sa", INSTANCE_IPS: "10.0.0.1" } };
    await stream.send(create(DiscoveryRequestSchema, { node, typeUrl, resourceNames: [...names] }));
    return stream;
  }
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await nextTurn();
  };
  return { source, ads, server, port, connect, until, written, begun: () => begun };
}
const nodeId = (name: string): string => `sidecar~10.0.0.1~${name}.default~default.svc.cluster.local`;
type Proxy = ClientStream<unknown, DiscoveryResponse>;

async function next(proxy: Proxy): Promise<DiscoveryResponse> {
  const { done, value } = await proxy.messages.next();
  if (done) throw new Error("the stream has ended");
  return value;
}

test("X12: of a herd and those that have config the herd is written to first, the others are not left out, none is cut", async () => {
  const { source, ads, server, connect, until, written } = await start({
    maxConcurrentPushes: 1,
    slotMs: 1e7,
    stalledMs: 1e7,
  });
  source.set({ [CDS]: [resource("c", "1")], [LDS]: [resource("l", "1")] });
  const known = await Promise.all(Array.from({ length: 40 }, () => connect(CDS)));
  await Promise.all(known.map(next));
  // One that reads nothing takes the only slot, until it reads.
  source.set({ [EDS]: [resource("e", Buffer.alloc(large))] });
  const stuck = await connect(EDS, ["e"]);
  await until(() => ads.status().length === 41 && ads.waiting() === 0);
  source.set({ [CDS]: [resource("c", "2")] });
  await until(() => ads.waiting() === 40);
  const herd = await Promise.all(Array.from({ length: 160 }, () => connect(LDS)));
  await until(() => ads.waiting() === 200);
  expect(server.load()).toEqual({ connections: 201, calls: 201 });

  written.length = 0;
  const all = [...(await Promise.all([next(stuck), ...herd.map(next)])), ...(await Promise.all(known.map(next)))];
  expect(all).toHaveLength(201);
  const order = written.filter((type) => type !== "eds");
  const [herdDone, knownServed] = [order.lastIndexOf("lds") + 1, order.indexOf("cds")];
  expect(order).toHaveLength(200);
  // One turn in eight is one of the others'.
  expect(order.slice(0, herdDone).filter((type) => type === "cds").length).toBeLessThanOrEqual(23);
  expect(knownServed).toBeLessThanOrEqual(8);
  expect(server.load()).toEqual({ connections: 201, calls: 201 });
});

test("X11: for readers that take nothing one push is made whatever changes, others get each change, and the latest comes in the end", async () => {
  const { source, connect, until, begun } = await start({ maxConcurrentPushes: 64, slotMs: 10 });
  const set = (n: number): void =>
    source.set({ [CDS]: [resource("c", Buffer.alloc(large, n))], [LDS]: [resource("l", `${n}`)] });
  set(1);
  const stuck = await Promise.all(Array.from({ length: 10 }, () => connect(CDS)));
  await until(() => begun() === 10);
  const healthy = await connect(LDS);
  for (let n = 2; n <= 50; n++) {
    await next(healthy);
    set(n);
  }
  await next(healthy);
  // The ten that are under way, and those of the one that reads.
  expect(begun()).toBe(10 + 50);
  for (const proxy of stuck) {
    const first = (await next(proxy)).resources[0]?.value;
    const second = (await next(proxy)).resources[0]?.value;
    expect([first?.at(-1), second?.at(-1)]).toEqual([1, 50]);
  }
  expect(begun()).toBe(10 + 50 + 10);
});

test("X11: 800 that read a first answer and then nothing keep neither others nor newcomers from their turn", async () => {
  // A reader that takes nothing would keep its slot for hours.
  const { source, ads, port, connect, until, begun } = await start({ slotMs: 1e7 });
  source.set({ [CDS]: [resource("c", "1")], [LDS]: [resource("l", "1")] });
  const first = toBinary(
    DiscoveryRequestSchema,
    create(DiscoveryRequestSchema, { node: { id: nodeId("s") }, typeUrl: CDS }),
  );
  const comeAndStop = async (session: ClientHttp2Session): Promise<void> => {
    const head = { ":method": "POST", ":path": method.path, "content-type": "application/grpc" };
    const stream = session.request(head).on("error", () => {});
    for (const chunk of messageChunks([first])) stream.write(chunk);
    await once(stream, "data");
    stream.pause();
  };
  const sessions = Array.from({ length: 40 }, () => http2.connect(`http://127.0.0.1:${port}`));
  open.push(() => {
    for (const session of sessions) session.destroy();
  });
  await Promise.all(sessions.flatMap((session) => Array.from({ length: 20 }, () => comeAndStop(session))));
  const healthy = await Promise.all(Array.from({ length: 20 }, () => connect(LDS)));
  await Promise.all(healthy.map(next));

  const before = begun();
  source.set({ [CDS]: [resource("c", Buffer.alloc(large))] });
  await until(() => ads.waiting() > 700);
  source.set({ [LDS]: [resource("l", "2")] });
  await next(await connect(LDS));
  // It has not come last.
  expect(ads.waiting()).toBeGreaterThan(0);
  await Promise.all(healthy.map(next));
  // One push for each, whatever it has not read, and one for each who reads.
  expect([begun() - before, ads.waiting()]).toEqual([800 + 20 + 1, 0]);
});

test("a proxy that comes back asks nothing of its class before that is made, whatever it says to hold", async () => {
  const made = Promise.withResolvers<void>();
  let isMade = false;
  let early = 0;
  let connected = 0;
  const { source, port, until } = await start({}, (inner) => ({
    connect(...args) {
      const session = inner.connect(...args);
      connected++;
      return {
        ready: made.promise,
        all(type) {
          if (!isMade) early++;
          return session.all(type);
        },
        get(type, name) {
          if (!isMade) early++;
          return session.get(type, name);
        },
        forget: session.forget,
        close: session.close,
      };
    },
  }));
  source.set({ [CDS]: [resource("c", "2"), resource("d", "1")] });
  const client = createRpcClient({ target: { host: "127.0.0.1", port } });
  open.push(() => client.close());
  const stream = await client.stream(deltaMethod);
  const node = { id: nodeId("p") };
  const request = { node, typeUrl: CDS, initialResourceVersions: { c: "1", gone: "1" } };
  await stream.send(create(DeltaDiscoveryRequestSchema, request));
  await until(() => connected === 1);
  await nextTurn();
  expect(early).toBe(0);
  isMade = true;
  made.resolve();
  const { done, value } = await stream.messages.next();
  if (done) throw new Error("the stream has ended");
  expect(value.resources.map(({ name }) => name).sort()).toEqual(["c", "d"]);
  expect(value.removedResources).toEqual(["gone"]);
  expect(early).toBe(0);
});
