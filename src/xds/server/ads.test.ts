import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect as connectSocket, createServer } from "node:net";
import { create, fromBinary, type JsonObject, toBinary } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import {
  type DeltaDiscoveryRequest,
  DeltaDiscoveryRequestSchema,
  type DeltaDiscoveryResponse,
  DeltaDiscoveryResponseSchema,
  type DiscoveryRequest,
  DiscoveryRequestSchema,
  type DiscoveryResponse,
  DiscoveryResponseSchema,
} from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { FairleadError, silentLogger } from "../../lib/index.ts";
import { type ResourceType, types } from "../../model/index.ts";
import { createRpcServer } from "../../rpc/index.ts";
import { noMetrics } from "../metrics.ts";
import { createMemorySource, type MemorySource, resource } from "../testing.ts";
import { virtualHostType } from "../type-info.ts";
import { type Ads, createAds } from "./ads.ts";
import type { AdsOptions, Authenticate, Proven } from "./ads-options.ts";

const { cluster: CDS, endpoint: EDS, listener: LDS, route: RDS } = types;
const sotwPath = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
const deltaPath = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";

const open: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).reverse()) await end();
});

let source: MemorySource;
let ads: Ads;
let counts: Map<string, number>;

async function start(options: Partial<AdsOptions> = {}, authenticate: Authenticate = () => undefined): Promise<number> {
  counts = new Map();
  const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  const set = (name: string, value: number, labels = {}): void =>
    void counts.set([name, ...Object.values(labels)].join(" "), value);
  ads = createAds({
    source,
    identifier: '{"Component":"istiod"}',
    ready: () => true,
    log: silentLogger,
    now: () => new Date(),
    uuid: randomUUID,
    metrics: { ...noMetrics, count, set },
    ...options,
  });
  const server = createRpcServer({ routes: ads.routes(authenticate), log: silentLogger });
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  open.push(() => server.close());
  return port;
}

beforeEach(() => {
  source = createMemorySource();
  source.set({
    [CDS]: [resource("a", "a", ["a"])],
    [EDS]: [resource("a", "ea")],
    [LDS]: [resource("l", "l")],
    [RDS]: [resource("r", "r", ["a"])],
  });
});

const metadata: JsonObject = { NAMESPACE: "default", SERVICE_ACCOUNT: "sa", INSTANCE_IPS: "10.0.0.1" };
const node = (change: { id?: string; metadata?: JsonObject } = {}) => ({
  id: "sidecar~10.0.0.1~pod.default~default.svc.cluster.local",
  metadata,
  ...change,
});

type SotwInit = Parameters<typeof create<typeof DiscoveryRequestSchema>>[1];
type DeltaInit = Parameters<typeof create<typeof DeltaDiscoveryRequestSchema>>[1];

/** A stream of a stock gRPC client; what comes is queued, its end is a promise. */
function connect<Req, Res>(
  port: number,
  path: string,
  serialize: (value: Req) => Buffer,
  deserialize: (bytes: Buffer) => Res,
) {
  const stub = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
  open.push(() => stub.close());
  const call = stub.makeBidiStreamRequest(path, serialize, deserialize);
  const queue: Res[] = [];
  const waiting: ((value: Res) => void)[] = [];
  call.on("data", (value: Res) => {
    const next = waiting.shift();
    if (next) next(value);
    else queue.push(value);
  });
  call.on("error", () => {});
  const ended = new Promise<grpc.StatusObject>((resolve) => call.once("status", resolve));
  return {
    send: (value: Req) => call.write(value),
    next: (): Promise<Res> => {
      const ready = queue.shift();
      return ready === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(ready);
    },
    queue,
    ended,
    end: () => call.end(),
    pause: () => call.pause(),
    resume: () => call.resume(),
    cancel: () => call.cancel(),
  };
}

const sotw = (port: number) => {
  const stream = connect<DiscoveryRequest, DiscoveryResponse>(
    port,
    sotwPath,
    (value) => Buffer.from(toBinary(DiscoveryRequestSchema, value)),
    (bytes) => fromBinary(DiscoveryResponseSchema, bytes),
  );
  return { ...stream, request: (init: SotwInit) => stream.send(create(DiscoveryRequestSchema, init)) };
};

const delta = (port: number) => {
  const stream = connect<DeltaDiscoveryRequest, DeltaDiscoveryResponse>(
    port,
    deltaPath,
    (value) => Buffer.from(toBinary(DeltaDiscoveryRequestSchema, value)),
    (bytes) => fromBinary(DeltaDiscoveryResponseSchema, bytes),
  );
  return { ...stream, request: (init: DeltaInit) => stream.send(create(DeltaDiscoveryRequestSchema, init)) };
};

const text = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes);

describe("a stock gRPC client", () => {
  test("state of the world: request, response, ACK, change", async () => {
    const stream = sotw(await start());
    stream.request({ node: node(), typeUrl: CDS });
    const first = await stream.next();
    expect(first).toMatchObject({
      typeUrl: CDS,
      versionInfo: expect.stringMatching(/^20\d\d-.*Z\/\d+$/),
      controlPlane: { identifier: '{"Component":"istiod"}' },
    });
    expect(first.nonce.startsWith(first.versionInfo)).toBe(true);
    expect(first.resources.map((one) => [one.typeUrl, text(one.value)])).toEqual([[CDS, "a"]]);
    stream.request({ typeUrl: CDS, responseNonce: first.nonce, versionInfo: first.versionInfo });
    source.set({ [CDS]: [resource("a", "a2")] });
    const second = await stream.next();
    expect(second.resources.map((one) => text(one.value))).toEqual(["a2"]);
    expect(second.nonce).not.toBe(first.nonce);
  });

  test("what it was sent last is told where nothing is on its way", async () => {
    const stream = sotw(await start());
    const sent = (type: ResourceType) => [...ads.progress()][0]?.sent(type);
    stream.request({ node: node(), typeUrl: CDS });
    const first = await stream.next();
    expect(sent(CDS)).toBeUndefined();
    stream.request({ typeUrl: CDS, responseNonce: first.nonce, versionInfo: first.versionInfo });
    stream.request({ typeUrl: EDS, resourceNames: ["a", "x"] });
    const { nonce, versionInfo } = await stream.next();
    stream.request({ typeUrl: EDS, resourceNames: ["a", "x"], responseNonce: nonce, versionInfo });
    await expect.poll(() => sent(EDS)?.resources.size).toBe(2);
    expect(sent(CDS)).toMatchObject({ isAll: true, resources: new Map([["a", { hash: resource("a", "a").hash }]]) });
    expect(sent(EDS)?.isAll).toBe(false);
    expect(sent(EDS)?.resources.get("a")?.hash).toBe(resource("a", "ea").hash);
    expect(sent(EDS)?.resources.get("x")).toBeUndefined();
    expect(sent(LDS)).toBeUndefined();
    source.set({ [CDS]: [resource("a", "a2")] });
    await stream.next();
    expect(sent(CDS)).toBeUndefined();
  });

  test("delta: named, versioned, removed", async () => {
    const stream = delta(await start());
    stream.request({ node: node(), typeUrl: EDS, resourceNamesSubscribe: ["a", "x"] });
    const first = await stream.next();
    expect(first).toMatchObject({
      typeUrl: EDS,
      removedResources: ["x"],
      controlPlane: { identifier: '{"Component":"istiod"}' },
    });
    expect(first.resources).toMatchObject([
      { name: "a", version: resource("a", "ea").hash, resource: { typeUrl: EDS } },
    ]);
    stream.request({ typeUrl: EDS, responseNonce: first.nonce });
    source.set({ [EDS]: [] });
    expect(await stream.next()).toMatchObject({ resources: [], removedResources: ["a"] });
  });

  test("a large push arrives whole", async () => {
    const bytes = randomBytes(3_000_000);
    source.set({
      [CDS]: [resource("big", bytes), ...Array.from({ length: 2000 }, (_, i) => resource(`c${i}`, randomBytes(200)))],
    });
    const stub = delta(await start());
    stub.request({ node: node(), typeUrl: CDS });
    const response = await stub.next();
    expect(response.resources).toHaveLength(2001);
    expect(Buffer.from(response.resources[0]?.resource?.value ?? []).equals(bytes)).toBe(true);
  });

  test("status tells of each proxy what it asked for, was sent, accepted and refused", async () => {
    const stream = sotw(await start());
    stream.request({ node: node(), typeUrl: CDS });
    const first = await stream.next();
    stream.request({ typeUrl: CDS, responseNonce: first.nonce, versionInfo: first.versionInfo });
    stream.request({ typeUrl: RDS, resourceNames: ["r"] });
    const routes = await stream.next();
    stream.request({
      typeUrl: RDS,
      resourceNames: ["r"],
      responseNonce: routes.nonce,
      errorDetail: { code: 3, message: `r is bad ${"x".repeat(100_000)}` },
    });
    stream.request({ typeUrl: LDS });
    await stream.next();
    const [proxy] = ads.status();
    expect(proxy).toMatchObject({
      connectionId: expect.stringMatching(/^pod\.default-\d+$/),
      variant: "sotw",
      node: { id: node().id },
    });
    expect(proxy?.types).toMatchObject([
      { type: CDS, wildcard: true, resources: 1, ackedNonce: first.nonce, sentNonce: first.nonce, lastError: "" },
      {
        type: RDS,
        wildcard: false,
        subscribed: 1,
        ackedNonce: "",
        sentNonce: routes.nonce,
        refused: new Map([["r", expect.any(String)]]),
      },
      { type: LDS },
    ]);
    expect(proxy?.types[1]?.lastError).toMatch(/^r is bad x+$/);
    expect(proxy?.types[1]?.lastError.length).toBeLessThanOrEqual(4096);
    expect(counts.get("pilot_xds_rds_reject pod.default InvalidArgument")).toBe(1);
    expect(counts.get("pilot_total_xds_rejects")).toBe(1);
    stream.end();
    expect(await stream.ended).toMatchObject({ code: grpc.status.OK });
    expect(ads.status()).toEqual([]);
    expect(source.connected).toEqual([]);
  });

  test("virtual hosts that are refused one by one count as routes", async () => {
    const routes = { name: "r", virtualHosts: [{ name: "web", domains: ["web"] }] };
    const config = toBinary(RouteConfigurationSchema, create(RouteConfigurationSchema, routes));
    source.set({ [RDS]: [resource("r", config)] });
    const stream = delta(await start({ virtualHosts: true }));
    const userAgentVersionType = {
      case: "userAgentBuildVersion" as const,
      value: { version: { majorNumber: 1, minorNumber: 37 } },
    };
    stream.request({
      node: { ...node(), userAgentName: "envoy", userAgentVersionType },
      typeUrl: RDS,
      resourceNamesSubscribe: ["r"],
    });
    stream.request({ typeUrl: RDS, responseNonce: (await stream.next()).nonce });
    const { typeUrl, nonce: responseNonce } = await stream.next();
    expect(typeUrl).toBe(virtualHostType);
    stream.request({ typeUrl, responseNonce, errorDetail: { code: 13, message: "r/web is bad" } });
    await expect.poll(() => counts.get("pilot_xds_rds_reject pod.default Internal")).toBe(1);
  });

  test("an operator can end a stream", async () => {
    const stream = sotw(await start());
    stream.request({ node: node(), typeUrl: CDS });
    await stream.next();
    expect(ads.disconnect("nobody")).toBe(false);
    expect(ads.disconnect(ads.status()[0]?.connectionId ?? "")).toBe(true);
    expect(await stream.ended).toMatchObject({ code: grpc.status.UNAVAILABLE });
  });

  test("types that belong to others are answered by the hook, once a question", async () => {
    const port = await start({
      other: {
        handles: (type) => type.startsWith("istio.io/debug"),
        answer: async ({ names, node: asker }) => [
          {
            ...resource("x", `${names[0]} for ${asker.id.split("~")[2]}`),
            typeUrl: "istio.io/debug",
          },
        ],
      },
    });
    const stream = sotw(port);
    stream.request({ node: node(), typeUrl: "istio.io/debug/syncz", resourceNames: ["syncz"] });
    const answer = await stream.next();
    expect(answer.resources.map((one) => [one.typeUrl, text(one.value)])).toEqual([
      ["istio.io/debug", "syncz for pod.default"],
    ]);
    stream.request({ typeUrl: "istio.io/debug/syncz", responseNonce: answer.nonce, resourceNames: ["syncz"] });
    stream.request({ typeUrl: LDS });
    expect((await stream.next()).typeUrl).toBe(LDS);
    // As istioctl does, which puts the time there.
    stream.request({ typeUrl: "istio.io/debug/syncz", responseNonce: "2026-01-01 10:00:00", resourceNames: ["again"] });
    expect((await stream.next()).resources.map((one) => text(one.value))).toEqual(["again for pod.default"]);
  });
});

describe("faults", () => {
  const refusedWith = async (
    init: SotwInit,
    authenticate?: Authenticate,
    options?: Partial<AdsOptions>,
  ): Promise<grpc.status> => {
    const stream = sotw(await start(options, authenticate));
    stream.request(init);
    return (await stream.ended).code;
  };
  const {
    INVALID_ARGUMENT,
    PERMISSION_DENIED,
    RESOURCE_EXHAUSTED,
    UNAUTHENTICATED,
    UNAVAILABLE,
    DEADLINE_EXCEEDED,
    INTERNAL,
  } = grpc.status;

  test("X01: a stale or made-up nonce is ignored and counted", async () => {
    const stream = sotw(await start());
    stream.request({ node: node(), typeUrl: CDS });
    await stream.next();
    stream.request({ typeUrl: CDS, responseNonce: "made up" });
    stream.request({ typeUrl: LDS });
    expect((await stream.next()).typeUrl).toBe(LDS);
    expect(stream.queue).toEqual([]);
    expect(counts.get("pilot_xds_expired_nonce")).toBe(1);
    expect(ads.status()[0]?.types[0]?.ackedNonce).toBe("");
  });

  test.each([
    ["no node", undefined],
    ["an empty node id", { id: "" }],
  ])("X02: %s", async (_name, bad) => {
    expect(await refusedWith(bad ? { node: bad, typeUrl: CDS } : { typeUrl: CDS })).toBe(INVALID_ARGUMENT);
    expect(source.connected).toEqual([]);
  });

  test.each([
    "pod",
    "sidecar~10.0.0.1~pod.default",
    "alien~10.0.0.1~pod.default~x",
    "sidecar~10.0.0.1~~x",
    `sidecar~10.0.0.1~${"p".repeat(2000)}.default~x`,
  ])("X03: node id %.40s", async (id) => {
    expect(await refusedWith({ node: node({ id }), typeUrl: CDS })).toBe(INVALID_ARGUMENT);
  });

  test("X03: no address anywhere", async () => {
    expect(await refusedWith({ node: node({ id: "sidecar~~pod.default~x", metadata: {} }), typeUrl: CDS })).toBe(
      INVALID_ARGUMENT,
    );
  });

  test("X03: a later node is ignored", async () => {
    const stream = sotw(await start());
    stream.request({ node: node(), typeUrl: CDS });
    await stream.next();
    stream.request({ node: node({ id: "sidecar~10.0.0.2~other.kube-system~x" }), typeUrl: LDS });
    await stream.next();
    expect(ads.status()[0]?.node.id).toBe(node().id);
  });

  const deep = (depth: number): JsonObject => (depth === 0 ? {} : { a: deep(depth - 1) });
  const wrong: Record<string, readonly JsonObject[string][]> = {
    INSTANCE_IPS: [1, true, ["10.0.0.1"], {}, deep(12)],
    NAMESPACE: [1, [], {}],
    LABELS: ["x", 1, [], { a: 1 }, { a: { b: "c" } }],
    PROXY_CONFIG: ["x", 1, []],
    DNS_CAPTURE: [true, 1, "maybe", {}],
    ENVOY_STATUS_PORT: ["15021", -1, 1.5, 70_000, {}],
    POD_PORTS: [1, {}, []],
  };
  test.each(Object.entries(wrong))("R26: a wrong type in %s", async (key, values) => {
    const port = await start();
    for (const value of values) {
      const stream = sotw(port);
      stream.request({ node: node({ metadata: { ...metadata, [key]: value } }), typeUrl: CDS });
      expect((await stream.ended).code).toBe(INVALID_ARGUMENT);
    }
  });

  test("R26: null is nothing, and unknown keys are free", async () => {
    const stream = sotw(await start());
    stream.request({ node: node({ metadata: { ...metadata, LABELS: null, MINE: [1, { a: true }] } }), typeUrl: CDS });
    await stream.next();
    expect(source.connected[0]?.metadata).toMatchObject({ MINE: [1, { a: true }] });
  });

  test("X09: huge or deep metadata is refused, __proto__ is data", async () => {
    expect(await refusedWith({ node: node({ metadata: { ...metadata, X: "x".repeat(300_000) } }), typeUrl: CDS })).toBe(
      RESOURCE_EXHAUSTED,
    );
    expect(await refusedWith({ node: node({ metadata: { ...metadata, X: deep(30) } }), typeUrl: CDS })).toBe(
      INVALID_ARGUMENT,
    );
    const stream = sotw(await start());
    stream.request({
      node: node({ metadata: { ...metadata, ...(JSON.parse('{"__proto__":{"polluted":"yes"}}') as JsonObject) } }),
      typeUrl: CDS,
    });
    await stream.next();
    expect(Object.keys(source.connected[0]?.metadata ?? {})).toContain("__proto__");
    expect(source.connected[0]?.metadata.polluted).toBeUndefined();
  });

  test("X09: a node that would take long to decode is refused before", async () => {
    const many = Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`k${i}`, "x"]));
    for (const stream of [sotw(await start()), delta(await start())]) {
      stream.request({ node: node({ metadata: { ...metadata, LABELS: many } }), typeUrl: CDS });
      const { code, details } = await stream.ended;
      expect([code, details]).toEqual([
        RESOURCE_EXHAUSTED,
        expect.stringMatching(/^the node has \d+ bytes; at most 524288 are accepted$/),
      ]);
    }
  });

  test.each(["type.googleapis.com/no.such.Type", "", "t".repeat(10_000)])(
    "X04: type %.40j gets no answer, and the stream stays",
    async (typeUrl) => {
      const stream = sotw(await start());
      stream.request({ node: node(), typeUrl });
      for (let i = 0; i < 200; i++) stream.request({ typeUrl: `${typeUrl}${i}` });
      stream.request({ typeUrl: CDS });
      expect((await stream.next()).typeUrl).toBe(CDS);
      expect(stream.queue).toEqual([]);
      expect(ads.status()[0]?.types).toHaveLength(1);
    },
  );

  test("X05: a storm of NACKs causes no push, and others are served meanwhile", async () => {
    const port = await start({ limits: { requestsPerSecond: 100 } });
    const storm = sotw(port);
    storm.request({ node: node(), typeUrl: CDS });
    const first = await storm.next();
    for (let i = 0; i < 900; i++)
      storm.request({ typeUrl: CDS, responseNonce: first.nonce, errorDetail: { code: 3, message: "no" } });
    const other = sotw(port);
    other.request({ node: node(), typeUrl: CDS });
    await other.next();
    storm.request({ typeUrl: LDS });
    expect((await storm.next()).typeUrl).toBe(LDS);
    expect(storm.queue).toEqual([]);
    expect(counts.get("pilot_xds_pushes")).toBe(3);
  });

  test("X06: no names on endpoints is an unsubscription", async () => {
    const stream = sotw(await start());
    stream.request({ node: node(), typeUrl: EDS, resourceNames: ["a"] });
    const first = await stream.next();
    stream.request({ typeUrl: EDS, responseNonce: first.nonce, resourceNames: [] });
    stream.request({ typeUrl: CDS });
    await stream.next();
    source.set({ [EDS]: [resource("a", "changed")], [CDS]: [resource("a", "changed")] });
    expect((await stream.next()).typeUrl).toBe(CDS);
    expect(stream.queue).toEqual([]);
  });

  test("X07: 100,000 names, many of them twice, are served in linear time", async () => {
    const stream = delta(await start());
    const names = Array.from({ length: 100_000 }, (_, i) => `name-${i % 60_000}`);
    stream.request({ node: node(), typeUrl: EDS, resourceNamesSubscribe: ["a", ...names] });
    const first = await stream.next();
    expect(first.resources).toHaveLength(1);
    const missing = [...first.removedResources];
    while (missing.length < 60_000) missing.push(...(await stream.next()).removedResources);
    expect(new Set(missing).size).toBe(60_000);
  });

  test("X08: a message past 4 MiB", async () => {
    expect(await refusedWith({ node: node(), typeUrl: EDS, resourceNames: ["x".repeat(5_000_000)] })).toBe(
      RESOURCE_EXHAUSTED,
    );
  });

  test("X10: a stream without a request is closed in time", async () => {
    const stream = sotw(await start({ limits: { firstRequestMs: 50 } }));
    expect((await stream.ended).code).toBe(DEADLINE_EXCEEDED);
  });

  test("X11: readers that take nothing keep nobody else from his config, and get the latest in the end", async () => {
    const big = (fill: number) => ({ [CDS]: [resource("big", Buffer.alloc(3_000_000, fill))] });
    source.set(big(1));
    const port = await start({ limits: { maxConcurrentPushes: 2, slotMs: 20 } });
    const stalled = Array.from({ length: 5 }, () => {
      const stream = sotw(port);
      stream.pause();
      stream.request({ node: node(), typeUrl: CDS });
      return stream;
    });
    while (ads.status().length < 5) await new Promise((resolve) => setImmediate(resolve));
    const healthy = sotw(port);
    healthy.request({ node: node(), typeUrl: CDS });
    expect((await healthy.next()).resources[0]?.value[0]).toBe(1);
    for (let i = 2; i < 50; i++) source.set(big(i));
    expect((await healthy.next()).resources[0]?.value.at(-1)).toBe(49);
    for (const stream of stalled) stream.resume();
    for (const stream of stalled) {
      let last = (await stream.next()).resources[0]?.value[0];
      let responses = 1;
      for (; last !== 49; responses++) last = (await stream.next()).resources[0]?.value[0];
      expect(responses).toBeLessThanOrEqual(2);
    }
  });

  test("X12: past the cap a stream is refused", async () => {
    const port = await start({ limits: { maxStreams: 1 } });
    const first = sotw(port);
    first.request({ node: node(), typeUrl: CDS });
    await first.next();
    const second = sotw(port);
    second.request({ node: node(), typeUrl: CDS });
    expect((await second.ended).code).toBe(RESOURCE_EXHAUSTED);
  });

  test("X12: of 2,000 streams of one client as many are served as one may have, and others as before", async () => {
    const port = await start({ limits: { maxStreams: 100, maxStreamsPerClient: 50 } });
    const request = Buffer.from(
      toBinary(DiscoveryRequestSchema, create(DiscoveryRequestSchema, { node: node(), typeUrl: CDS })),
    );
    const asIs = (bytes: Buffer): Buffer => bytes;
    // So many on one connection would be ended with it, for all that are reset.
    const streams = (at: number, count: number) => {
      const own = { "grpc.use_local_subchannel_pool": 1 };
      const client = new grpc.Client(`127.0.0.1:${at}`, grpc.credentials.createInsecure(), own);
      open.push(() => client.close());
      return Array.from({ length: count }, () => {
        const call = client.makeBidiStreamRequest(sotwPath, asIs, asIs).on("error", () => {});
        call.write(request);
        return new Promise<string | number>((resolve) => {
          call.once("data", () => resolve("served"));
          call.once("status", ({ code }: grpc.StatusObject) => resolve(code));
        });
      });
    };
    const answers = await Promise.all(Array.from({ length: 20 }, () => streams(port, 100)).flat());
    expect(answers.filter((answer) => answer === "served")).toHaveLength(50);
    expect(answers.filter((answer) => answer === RESOURCE_EXHAUSTED)).toHaveLength(1950);
    const elsewhere = createServer((near) => {
      const far = connectSocket({ port, host: "127.0.0.1", localAddress: "127.0.0.2" });
      near.pipe(far).pipe(near);
      for (const socket of [near, far]) socket.on("error", () => {});
    }).listen(0, "127.0.0.1");
    open.push(() => void elsewhere.close());
    await once(elsewhere, "listening");
    expect(await Promise.all(streams((elsewhere.address() as AddressInfo).port, 1))).toEqual(["served"]);
  });

  test("X13: before the caches are filled nothing is sent, least of all an empty config", async () => {
    expect(await refusedWith({ node: node(), typeUrl: CDS }, undefined, { ready: () => false })).toBe(UNAVAILABLE);
  });

  test("X16: one node id on two streams: both are served", async () => {
    const port = await start();
    const streams = [sotw(port), sotw(port)];
    for (const stream of streams) stream.request({ node: node(), typeUrl: CDS });
    await Promise.all(streams.map((stream) => stream.next()));
    expect(new Set(ads.status().map((proxy) => proxy.connectionId)).size).toBe(2);
  });

  const identity = (namespace: string, serviceAccount: string): Proven => ({
    identity: { trustDomain: "cluster.local", namespace, serviceAccount },
  });
  test("X17: an identity of another namespace or account", async () => {
    expect(await refusedWith({ node: node(), typeUrl: CDS }, () => identity("other", "sa"))).toBe(PERMISSION_DENIED);
    expect(await refusedWith({ node: node(), typeUrl: CDS }, () => identity("default", "other"))).toBe(
      PERMISSION_DENIED,
    );
    const { NAMESPACE: _, ...silent } = metadata;
    expect(await refusedWith({ node: node({ metadata: silent }), typeUrl: CDS }, () => identity("evil", "sa"))).toBe(
      PERMISSION_DENIED,
    );
    expect(source.connected).toEqual([]);
    const stream = sotw(await start({}, () => identity("default", "sa")));
    stream.request({ node: node(), typeUrl: CDS });
    await stream.next();
    expect(ads.status()[0]?.identity).toEqual(identity("default", "sa").identity);
  });

  test("the namespace that a node says counts, not the one of its id", async () => {
    const stream = sotw(await start({}, () => identity("istio-system", "sa")));
    stream.request({ node: node({ metadata: { ...metadata, NAMESPACE: "istio-system" } }), typeUrl: CDS });
    expect((await stream.next()).typeUrl).toBe(CDS);
  });

  test("a caller that cannot prove who it is", async () => {
    const nobody = (): never => {
      throw new FairleadError("unauthenticated", "no credentials");
    };
    expect(await refusedWith({ node: node(), typeUrl: CDS }, nobody)).toBe(UNAUTHENTICATED);
  });

  test("X18: bytes that are no request", async () => {
    const port = await start();
    const stream = connect<Buffer, Buffer>(
      port,
      sotwPath,
      (value) => value,
      (value) => value,
    );
    stream.send(Buffer.from("0a05ff", "hex"));
    expect((await stream.ended).code).toBe(INVALID_ARGUMENT);
  });

  test("X19: credentials that expire end the stream", async () => {
    let valid = true;
    const expires: Authenticate = () => {
      if (!valid) throw new FairleadError("unauthenticated", "the token has expired");
      return identity("default", "sa");
    };
    const stream = sotw(await start({ limits: { reauthenticateMs: 20 } }, expires));
    stream.request({ node: node(), typeUrl: CDS });
    await stream.next();
    valid = false;
    expect((await stream.ended).code).toBe(UNAUTHENTICATED);
  });

  test("a fault of ours in one stream ends that stream alone", async () => {
    const port = await start();
    const [good, bad] = [sotw(port), sotw(port)];
    good.request({ node: node(), typeUrl: CDS });
    await good.next();
    const connectGood = source.connect;
    Object.assign(source, {
      connect: (...args: Parameters<typeof connectGood>) => ({
        ...connectGood(...args),
        all: () => {
          throw new TypeError("broken");
        },
      }),
    });
    bad.request({ node: node(), typeUrl: CDS });
    expect(await bad.ended).toMatchObject({ code: INTERNAL, details: "internal error" });
    expect(counts.get("pilot_total_xds_internal_errors")).toBe(1);
    source.set({ [CDS]: [resource("a", "a2")] });
    expect((await good.next()).typeUrl).toBe(CDS);
  });
});
