/**
 * Bad input of every kind against a server that has two hundred other proxies, some of them over TLS: each row has its
 * outcome and what is counted of it, and after each row every one of the others gets the next change. Finer cases of a row
 * are in `ads.test.ts`, a peer that is gone without a word in `rpc/server.test.ts`, who is written to first in
 * `herd.test.ts`, a Pod that is deleted in `control-plane/renewal.test.ts`, and where people see what a proxy refuses in
 * `test/dashboard/refused.test.ts`.
 *
 * Three rules hold for all rows. The token that each bad client shows, in its headers, its metadata and what it refuses, is
 * in no line of the log, no label of a metric, and nothing that others are shown. No turn of the event loop is long: here with a generous bound, as this process is all the
 * proxies as well. And afterwards no more is held than before: here of the heap, as what a process has given back to the
 * system is a matter of the allocator. With a process for the server, and 250 ms and resident memory, both are in
 * `bench/bad-input.ts`.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import http2, { type ServerHttp2Stream } from "node:http2";
import { connect as connectSocket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { create, fromBinary, type JsonObject, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { watchTurns } from "../../../test/cpu-time.ts";
import { heldBytes } from "../../../test/held-bytes.ts";
import { AggregatedDiscoveryService } from "../../gen/envoy/service/discovery/v3/ads_pb.js";
import {
  type DeltaDiscoveryRequest,
  DeltaDiscoveryRequestSchema,
  type DeltaDiscoveryResponse,
  DiscoveryRequestSchema,
  type DiscoveryResponse,
  DiscoveryResponseSchema,
} from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { createLogger, createOverload, FairleadError } from "../../lib/index.ts";
import { types } from "../../model/index.ts";
import { readMessages } from "../../rpc/frame.ts";
import {
  type ClientStream,
  createRpcClient,
  createRpcServer,
  protoMethod,
  type RpcClient,
  RpcError,
  status,
} from "../../rpc/index.ts";
import { createTestAuthority } from "../../rpc/testing.ts";
import { noMetrics } from "../metrics.ts";
import { createMemorySource, resource } from "../testing.ts";
import { createAds } from "./ads.ts";
import { type Authenticate, defaultAdsLimits } from "./ads-options.ts";

const { cluster: CDS, endpoint: EDS, listener: LDS } = types;
const sotwMethod = protoMethod(AggregatedDiscoveryService.method.streamAggregatedResources);
const deltaMethod = protoMethod(AggregatedDiscoveryService.method.deltaAggregatedResources);
/** Of all bad clients. */
const token = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJwbGFudGVkIn0.cGxhbnRlZC1zaWduYXR1cmU";
const bearer = { authorization: `Bearer ${token}` };
const metadata: JsonObject = { NAMESPACE: "default", SERVICE_ACCOUNT: "sa", INSTANCE_IPS: "10.0.0.1" };
const nodeOf = (name: string, more: JsonObject = {}) => ({
  id: `sidecar~10.0.0.1~${name}.default~default.svc.cluster.local`,
  metadata: { ...metadata, TOKEN: token, ...more },
});

const maxStreams = 2300;
const maxNames = 120_000;
/** Of one stream whose reader takes nothing: as `write.ts` in `rpc` has it, and the chunk that goes beyond. */
const maxWaiting = (256 + 64) * 1024;
const source = createMemorySource();
/** By the name of the metric, with the values of its labels. */
const counts = new Map<string, number>();
const sample = (name: string, labels: object = {}): string => [name, ...Object.values(labels)].join(" ");
const count = (name: string, labels?: object): void => {
  const key = sample(name, labels);
  counts.set(key, (counts.get(key) ?? 0) + 1);
};
const gauges = new Map<string, number>();

/** What is counted since the test began. */
let countsBefore = new Map<string, number>();
const counted = (key: string): number => (counts.get(key) ?? 0) - (countsBefore.get(key) ?? 0);
/** Of it what was refused, by why. */
const refused = (): Readonly<Record<string, number>> => {
  const prefix = sample("fairlead_xds_refused_total ");
  return Object.fromEntries(
    [...counts.keys()]
      .filter((key) => key.startsWith(prefix) && counted(key) > 0)
      .map((key) => [key.slice(prefix.length), counted(key)]),
  );
};

/** Lines of the log, of all levels: how many there were, and those with what must not be in them. */
const logged = { lines: 0, leaks: [] as string[] };
const log = createLogger({
  write(line) {
    logged.lines++;
    if (line.includes(token)) logged.leaks.push(line);
  },
  now: () => new Date(),
  levels: "default:debug",
});
const revoked = new Set<string>();
/** Whose a token has become, and how often each was shown. */
const became = new Map<string, string>();
const shown = new Map<string, number>();
let ready = true;
let tick = 0;

/** Proxies that say who they are, and by which token, are believed until it is revoked. */
const authenticate: Authenticate = (call) => {
  const who = call.metadata("x-who");
  if (who === undefined) return undefined;
  if (revoked.has(who)) throw new FairleadError("unauthenticated", "the token has expired");
  shown.set(who, (shown.get(who) ?? 0) + 1);
  const [namespace = "", serviceAccount = ""] = (became.get(who) ?? who).split("/");
  return { identity: { trustDomain: "cluster.local", namespace, serviceAccount } };
};

/** How much of the heap is taken. */
let heapShare = 0.1;
const overload = createOverload({
  ...{ heap: { limitBytes: 1e9, share: () => heapShare, close: () => {} }, descriptorLimit: 1e6 },
  ...{ log, monotonicMs: () => performance.now() },
});

const ads = createAds({
  source,
  identifier: "test",
  ready: () => ready,
  log,
  now: () => new Date(),
  uuid: randomUUID,
  metrics: { ...noMetrics, count, set: (name, value, labels) => void gauges.set(sample(name, labels), value) },
  limits: { maxStreams, maxNames, maxNameBytes: 8 * 1024 * 1024, firstRequestMs: 4000, reauthenticateMs: 200 },
  overload,
});
const onRefused = (reason: string): void => count("fairlead_xds_refused_total", { reason });
const authority = createTestAuthority();
const server = createRpcServer({ routes: ads.routes(authenticate), log, onRefused });
const secureServer = createRpcServer({
  ...{ routes: ads.routes(authenticate), log, onRefused },
  tls: authority.issue("DNS:localhost"),
});
let port = 0;
let securePort = 0;

const change = (more: readonly string[] = []): void => {
  tick++;
  source.set({ [CDS]: [resource("tick", `${tick}`), ...more.map((name) => resource(name, `${name}${tick}`))] });
};

/** Of 64 MB. */
const inflatable = gzipSync(Buffer.alloc(64 * 1024 * 1024));

interface Other {
  seen: number;
  failure: unknown;
}
const others: Other[] = [];
const clients: RpcClient[] = [];
let noticed = Promise.withResolvers<void>();

async function follow(rpc: RpcClient, index: number): Promise<void> {
  const other: Other = { seen: 0, failure: undefined };
  others.push(other);
  const stream = await rpc.stream(deltaMethod);
  void stream.send(create(DeltaDiscoveryRequestSchema, { node: nodeOf(`other-${index}`), typeUrl: CDS }));
  try {
    for await (const { resources, nonce } of stream.messages) {
      const news = resources.find(({ name }) => name === "tick")?.resource?.value;
      if (news) other.seen = Number(new TextDecoder().decode(news));
      void stream.send(create(DeltaDiscoveryRequestSchema, { typeUrl: CDS, responseNonce: nonce }));
      noticed.resolve();
    }
  } catch (error) {
    other.failure = error;
    noticed.resolve();
  }
}

async function allReached(): Promise<void> {
  while (others.some(({ seen, failure }) => seen !== tick && failure === undefined)) {
    await noticed.promise;
    noticed = Promise.withResolvers();
  }
  expect(others.filter(({ failure }) => failure !== undefined)).toEqual([]);
}

const turns = watchTurns();
/** In processor time. Work that is not done in turns, or that grows with the square of what came, takes seconds. */
const maxTurnMs = 1000;
let heldBefore = 0;

beforeAll(async () => {
  change();
  source.set({ [EDS]: [resource("a", "ea")], [LDS]: [resource("l", "l")] });
  port = (await server.listen({ host: "127.0.0.1", port: 0 })).port;
  securePort = (await secureServer.listen({ host: "127.0.0.1", port: 0 })).port;
  for (let i = 0; i < 200; i++) {
    if (i % 50 === 0) clients.push(i === 150 ? secureClient() : plainClient());
    void follow(clients[Math.floor(i / 50)] as RpcClient, i);
  }
  await allReached();
  heldBefore = await heldBytes();
  turns.takeMs();
});

const open: (() => void)[] = [];
beforeEach(() => {
  countsBefore = new Map(counts);
  logged.lines = 0;
});
afterEach(async () => {
  for (const end of open.splice(0)) end();
  change();
  await allReached();
  while (ads.status().length > 200) await nextTurn();
  expect(ads.status()).toHaveLength(200);
  expect(turns.takeMs()).toBeLessThan(maxTurnMs);
  expect(logged.lines).toBeGreaterThan(0);
  expect(logged.leaks.splice(0)).toEqual([]);
  expect([...counts.keys(), ...gauges.keys()].filter((key) => key.includes(token))).toEqual([]);
});
afterAll(async () => {
  turns.stop();
  for (const client of clients) client.close();
  await server.close();
  await secureServer.close();
});

const plainClient = (): RpcClient => createRpcClient({ target: { host: "127.0.0.1", port } });
const secureClient = (): RpcClient =>
  createRpcClient({
    target: { host: "127.0.0.1", port: securePort },
    tls: () => ({ ca: authority.ca, serverName: "localhost" }),
  });

function client(): RpcClient {
  const made = plainClient();
  open.push(() => made.close());
  return made;
}

type Bad<Init, Response> = {
  send(init: Init): void;
  next(): Promise<Response>;
  /** The status that it ends with; what comes before is passed over. */
  ended(): Promise<number>;
  stream: ClientStream<unknown, Response>;
};

const shownBy = (who: string | undefined): Readonly<Record<string, string>> => ({
  ...bearer,
  ...(who === undefined ? {} : { "x-who": who }),
});

async function sotw(
  who?: string,
  rpc = client(),
): Promise<Bad<MessageInitShape<typeof DiscoveryRequestSchema>, DiscoveryResponse>> {
  const stream = await rpc.stream(sotwMethod, { metadata: shownBy(who) });
  return { send: (init) => void stream.send(create(DiscoveryRequestSchema, init)).catch(() => {}), ...reading(stream) };
}

async function delta(
  who?: string,
  rpc = client(),
): Promise<Bad<MessageInitShape<typeof DeltaDiscoveryRequestSchema>, DeltaDiscoveryResponse>> {
  const stream = await rpc.stream(deltaMethod, { metadata: shownBy(who) });
  return {
    send: (init) => void stream.send(create(DeltaDiscoveryRequestSchema, init)).catch(() => {}),
    ...reading(stream),
  };
}

const variants: readonly (readonly ["sotw", typeof sotw] | readonly ["delta", typeof delta])[] = [
  ["sotw", sotw],
  ["delta", delta],
];

function reading<R>(stream: ClientStream<never, R>) {
  return {
    stream,
    async next(): Promise<R> {
      const { done, value } = await stream.messages.next();
      if (done) throw new Error("the stream has ended");
      return value;
    },
    async ended(): Promise<number> {
      try {
        for await (const _ of stream.messages);
        return status.ok;
      } catch (error) {
        if (error instanceof RpcError) return error.status;
        throw error;
      }
    },
  };
}

/** The gRPC status that these bytes are answered with, as one message or as they are. */
async function raw(message: Uint8Array, { flag = 0, path = sotwMethod.path } = {}): Promise<number> {
  const session = http2.connect(`http://127.0.0.1:${port}`);
  open.push(() => session.destroy());
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    ...bearer,
    ...(flag === 1 ? { "grpc-encoding": "gzip" } : {}),
  });
  stream.on("error", () => {});
  const answered = new Promise<number>((resolve) => {
    const look = (headers: http2.IncomingHttpHeaders): void => {
      if (headers["grpc-status"] !== undefined) resolve(Number(headers["grpc-status"]));
    };
    stream.on("response", look);
    stream.on("trailers", look);
  });
  stream.resume();
  stream.write(framed(message, flag));
  return answered;
}

describe("table X, while two hundred others are served", () => {
  test("X01: a nonce that was never sent changes nothing, and is counted", async () => {
    const bad = await sotw();
    bad.send({ node: nodeOf("bad"), typeUrl: CDS });
    await bad.next();
    for (let i = 0; i < 100; i++) bad.send({ typeUrl: CDS, responseNonce: `made-up-${i}` });
    bad.send({ typeUrl: LDS });
    expect((await bad.next()).typeUrl).toBe(LDS);
    expect(counted("pilot_xds_expired_nonce cds")).toBe(100);
    expect(refused()).toEqual({});
  });

  test.each(variants)("X02, X03: no node, an empty one, a malformed one, wrong types: %s", async (_, start) => {
    const nodes = [
      undefined,
      { id: "" },
      { id: "pod" },
      { id: "sidecar~nowhere~pod.default~x" },
      nodeOf("bad", { LABELS: 1 }),
    ];
    for (const node of nodes) {
      const bad = await start();
      bad.send(node ? { node, typeUrl: CDS } : { typeUrl: CDS });
      expect(await bad.ended()).toBe(status.invalidArgument);
    }
    expect(refused()).toEqual({ InvalidArgument: nodes.length });
  });

  test.each(variants)("X03: a node that comes later is ignored: %s", async (_, start) => {
    const bad = await start();
    bad.send({ node: nodeOf("bad"), typeUrl: CDS });
    await bad.next();
    bad.send({ node: { id: "nonsense" }, typeUrl: LDS });
    await bad.next();
    expect(ads.status().at(-1)?.node.id).toBe(nodeOf("bad").id);
    expect(refused()).toEqual({});
  });

  test("X04: types that nobody knows get no answer, and are not remembered", async () => {
    const bad = await sotw();
    bad.send({ node: nodeOf("bad"), typeUrl: "" });
    for (let i = 0; i < 300; i++) bad.send({ typeUrl: `${"t".repeat(10_000)}${i}` });
    bad.send({ typeUrl: LDS });
    expect((await bad.next()).typeUrl).toBe(LDS);
    expect(
      ads
        .status()
        .at(-1)
        ?.types.map(({ type }) => type),
    ).toEqual([LDS]);
    expect(refused()).toEqual({ UnknownType: 301 });
  });

  test("X05: a storm of refusals, some of a megabyte, causes no push and is taken at its pace", async () => {
    const beganMs = performance.now();
    const bad = await sotw();
    bad.send({ node: nodeOf("bad"), typeUrl: LDS });
    const { nonce } = await bad.next();
    const message = `Bearer ${token} ${"no".repeat(500_000)}`;
    const [burst, perSecond] = [10 * defaultAdsLimits.requestsPerSecond, defaultAdsLimits.requestsPerSecond];
    const sent = burst + perSecond / 2;
    for (let i = 0; i < sent; i++)
      bad.send({ typeUrl: LDS, responseNonce: nonce, errorDetail: { code: 3, message: i < 10 ? message : "no" } });
    bad.send({ typeUrl: CDS });
    // It waits meanwhile; the others do not.
    change();
    await allReached();
    expect((await bad.next()).typeUrl).toBe(CDS);
    // With the two requests for types, and one that has begun to wait when its time came.
    expect(performance.now() - beganMs).toBeGreaterThan(((sent + 1 - burst) / perSecond) * 1000);
    expect(ads.status().at(-1)?.types[0]?.lastError.length).toBeLessThanOrEqual(4096);
    expect(counted("pilot_total_xds_rejects lds")).toBe(sent);
  });

  test("X06: what was unsubscribed is not pushed", async () => {
    const bad = await sotw();
    bad.send({ node: nodeOf("bad"), typeUrl: EDS, resourceNames: ["a"] });
    const { nonce } = await bad.next();
    bad.send({ typeUrl: EDS, responseNonce: nonce, resourceNames: [] });
    bad.send({ typeUrl: LDS });
    await bad.next();
    source.set({ [EDS]: [resource("a", `${tick}`)] });
    source.set({ [LDS]: [resource("l", `${tick}`)] });
    expect((await bad.next()).typeUrl).toBe(LDS);
    expect(counted("pilot_xds_pushes eds")).toBe(1);
    expect(refused()).toEqual({});
  });

  test.each([10_000, 100_000])("X07: %d names, many twice, one of 64 KB, all of them refused", async (count) => {
    const bad = await delta();
    const names = Array.from({ length: count }, (_, i) => `n${i}`);
    bad.send({
      node: nodeOf("bad"),
      typeUrl: EDS,
      resourceNamesSubscribe: ["a", ...names, ...names.slice(0, 5000), "x".repeat(65_536)],
    });
    const errorDetail = { code: 3, message: `${token} ${"n1 n2 n3".repeat(500)}` };
    const found: string[] = [];
    const missing = new Set<string>();
    while (missing.size < count + 1) {
      const { resources, removedResources, nonce } = await bad.next();
      found.push(...resources.map(({ name }) => name));
      for (const name of removedResources) missing.add(name);
      bad.send({ typeUrl: EDS, responseNonce: nonce, errorDetail });
    }
    expect(found[0]).toBe("a");
    bad.send({ typeUrl: LDS });
    while ((await bad.next()).typeUrl !== LDS);
    expect(counted("pilot_total_xds_rejects eds")).toBeGreaterThan(0);
  });

  test("X07: 60,000 names that are asked for and said to be there, of which one is", async () => {
    const bad = await delta();
    const names = ["a", ...Array.from({ length: 60_000 }, (_, i) => `n${i}`)];
    const initialResourceVersions = Object.fromEntries(names.map((name) => [name, "1"]));
    bad.send({ node: nodeOf("bad"), typeUrl: EDS, resourceNamesSubscribe: names, initialResourceVersions });
    const [found, gone]: [string[], string[]] = [[], []];
    while (found.length + gone.length < names.length) {
      const { resources, removedResources, nonce } = await bad.next();
      found.push(...resources.map(({ name }) => name));
      gone.push(...removedResources);
      bad.send({ typeUrl: EDS, responseNonce: nonce });
    }
    expect(found).toEqual(["a"]);
    expect(new Set(gone)).toEqual(new Set(names.slice(1)));
    bad.send({ typeUrl: LDS });
    expect((await bad.next()).typeUrl).toBe(LDS);
    expect(refused()).toEqual({});
  });

  test("X07: names past the bound, over many requests", async () => {
    const bad = await delta();
    bad.send({ node: nodeOf("bad"), typeUrl: EDS, resourceNamesSubscribe: ["a"] });
    for (let i = 0; i < 5; i++)
      bad.send({ typeUrl: EDS, resourceNamesSubscribe: Array.from({ length: maxNames / 4 }, (_, n) => `n${i}-${n}`) });
    expect(await bad.ended()).toBe(status.resourceExhausted);
    expect(refused()).toEqual({ ResourceExhausted: 1 });
  });

  test.each([false, true])(
    "X07: long names past the bound, over many requests, each given up again: %s",
    async (isGivenUp) => {
      const bad = await delta();
      bad.send({ node: nodeOf("bad"), typeUrl: EDS, resourceNamesSubscribe: ["a"] });
      for (let i = 0; i < 20; i++) {
        const names = [`${i}`.padStart(1024 * 1024, "x")];
        bad.send({ typeUrl: EDS, resourceNamesSubscribe: names });
        if (isGivenUp) bad.send({ typeUrl: EDS, resourceNamesUnsubscribe: names });
      }
      if (!isGivenUp) expect(await bad.ended()).toBe(status.resourceExhausted);
      else {
        bad.send({ typeUrl: LDS });
        while ((await bad.next()).typeUrl !== LDS);
      }
      expect(refused()).toEqual(isGivenUp ? {} : { ResourceExhausted: 1 });
    },
  );

  type Named = Partial<
    Pick<DeltaDiscoveryRequest, "resourceNamesSubscribe" | "resourceNamesUnsubscribe" | "initialResourceVersions">
  >;
  /** Such as V8 tells apart by comparing them whole: those of one length have one hash. */
  const longNames = Array.from({ length: 200 }, (_, i) => `${i}`.padStart(17_000, "x"));
  test.each<[string, Named[]]>([
    ["are asked for at once", [{ resourceNamesSubscribe: longNames }]],
    ["are given up at once", [{ resourceNamesUnsubscribe: longNames }]],
    ["are said to be there", [{ initialResourceVersions: Object.fromEntries(longNames.map((name) => [name, "1"])) }]],
    ["come one by one", longNames.map((name) => ({ resourceNamesSubscribe: [name] }))],
  ])("X07: two hundred names of 17 KB that %s are too many", async (_, requests) => {
    const bad = await delta();
    const [first, ...rest] = requests;
    bad.send({ node: nodeOf("bad"), typeUrl: EDS, ...first });
    for (const request of rest) bad.send({ typeUrl: EDS, ...request });
    // Comes where nothing before it was too much.
    bad.send({ typeUrl: LDS });
    const served = async (): Promise<void> => {
      while ((await bad.next()).typeUrl !== LDS);
    };
    await expect(served()).rejects.toMatchObject({ status: status.resourceExhausted });
    expect(refused()).toEqual({ ResourceExhausted: 1 });
  });

  test("X08: a message past the bound, as it is and inflated", async () => {
    const bad = await sotw();
    bad.send({ node: nodeOf("bad"), typeUrl: EDS, resourceNames: ["x".repeat(5_000_000)] });
    expect(await bad.ended()).toBe(status.resourceExhausted);
    expect(await raw(inflatable, { flag: 1 })).toBe(status.resourceExhausted);
    expect(refused()).toEqual({ ResourceExhausted: 2 });
  });

  test("X09: huge and deep metadata is refused, a hostile key is data", async () => {
    const bad = await sotw();
    bad.send({ node: nodeOf("bad", { X: "x".repeat(4_000_000) }), typeUrl: CDS });
    expect(await bad.ended()).toBe(status.resourceExhausted);
    expect(await raw(deepRequest(20_000))).toBe(status.invalidArgument);
    expect(await raw(deepRequest(100_000))).toBe(status.resourceExhausted);
    const odd = await sotw();
    odd.send({ node: nodeOf("odd", JSON.parse('{"__proto__":{"polluted":"yes"}}') as JsonObject), typeUrl: CDS });
    expect((await odd.next()).resources).toHaveLength(1);
    expect(Object.getOwnPropertyDescriptor(Object.prototype, "polluted")).toBeUndefined();
    expect(refused()).toEqual({ ResourceExhausted: 2, InvalidArgument: 1 });
  });

  test("X10: a stream that asks nothing is ended", async () => {
    expect(await (await sotw()).ended()).toBe(status.deadlineExceeded);
    expect(refused()).toEqual({ DeadlineExceeded: 1 });
  });

  // Such a stream is never ended: no more than 256 KiB wait for its reader, and one push at most, made when its turn comes.
  test("X11: a reader that takes nothing gets what is newest when it reads again, and not what was between", async () => {
    const big = (n: number): void => source.set({ [EDS]: [resource("a", Buffer.alloc(8_000_000, n))] });
    big(1);
    const bad = await sotw();
    bad.send({ node: nodeOf("bad"), typeUrl: EDS, resourceNames: ["a"] });
    while (ads.status().length < 201 || ads.waiting() > 0) await nextTurn();
    for (let n = 2; n <= 8; n++) {
      big(n);
      change();
      await allReached();
    }
    expect((await bad.next()).resources[0]?.value.at(-1)).toBe(1);
    expect((await bad.next()).resources[0]?.value.at(-1)).toBe(8);
    await expect.poll(() => counted("pilot_xds_pushes eds")).toBe(2);
    expect(refused()).toEqual({});
    source.set({ [EDS]: [resource("a", "ea")] });
  });

  test("X11: six thousand changes for a window of nothing: little waits, and what comes in the end is the newest", async () => {
    source.set({ [EDS]: [resource("a", Buffer.alloc(16_000_000, 1))] });
    const session = http2.connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 0 } });
    open.push(() => session.destroy());
    const made = nextServerStream();
    const bad = session.request({ ":method": "POST", ":path": sotwMethod.path, "content-type": "application/grpc" });
    bad.on("error", () => {});
    const ask = (init: MessageInitShape<typeof DiscoveryRequestSchema>): void =>
      void bad.write(framed(toBinary(DiscoveryRequestSchema, create(DiscoveryRequestSchema, init))));
    ask({ node: nodeOf("bad"), typeUrl: EDS, resourceNames: ["a"] });
    const served = await made;
    while (served.writableLength === 0) await nextTurn();
    let most = 0;
    // As many as ten a second are in ten minutes.
    for (let n = 1; n <= 6000; n++) {
      source.set({ [EDS]: [resource("a", Buffer.alloc(64 * 1024, n % 251))] });
      if (n % 10 === 0) await nextTurn();
      most = Math.max(most, served.writableLength);
      if (n % 1000 !== 0) continue;
      change();
      await allReached();
    }
    expect(most).toBeLessThanOrEqual(maxWaiting);
    expect(counted("pilot_xds_pushes eds")).toBe(0);
    session.settings({ initialWindowSize: 16 * 1024 * 1024 });
    const came: unknown[] = [];
    for await (const message of readMessages(bad, { maxBytes: 1e8, encoding: undefined })) {
      const { typeUrl, resources } = fromBinary(DiscoveryResponseSchema, message);
      came.push(typeUrl === EDS ? resources[0]?.value.at(-1) : typeUrl);
      // Nothing waits behind these two: what is asked for now comes next.
      if (came.length === 2) ask({ typeUrl: LDS });
      if (came.length === 3) break;
    }
    expect(came).toEqual([1, 6000 % 251, LDS]);
    source.set({ [EDS]: [resource("a", "ea")] });
  });

  test.each([1000, 2000])(
    "X12: %d come at once while config changes: none gets an older one or none, and only past the bound one is refused",
    async (count) => {
      const herd = await Promise.all(
        Array.from({ length: count / 10 }, client).flatMap((rpc) =>
          Array.from({ length: 10 }, () => sotw(undefined, rpc)),
        ),
      );
      const asked = herd.map((proxy, i) => {
        if (i % (count / 4) === 0) change();
        proxy.send({ node: nodeOf(`herd-${i}`), typeUrl: CDS });
        return tick;
      });
      const served = await Promise.all(
        herd.map(async (proxy, i) => {
          const got: number[] = [];
          do {
            const { resources } = await proxy.next();
            got.push(Number(new TextDecoder().decode(resources[0]?.value)));
          } while (got.at(-1) !== tick);
          return got.every((one, at) => one >= (got[at - 1] ?? asked[i] ?? tick));
        }),
      );
      expect(served).toEqual(herd.map(() => true));
      const rpc = client();
      const answers = await Promise.all(
        Array.from({ length: 150 }, async (_, i) => {
          const late = await sotw(undefined, rpc);
          late.send({ node: nodeOf(`late-${i}`), typeUrl: CDS });
          return late.next().then(
            () => "served",
            (error: RpcError) => error.status,
          );
        }),
      );
      const room = Math.min(150, maxStreams - 200 - count);
      expect(answers.filter((answer) => answer === "served")).toHaveLength(room);
      expect(answers.filter((answer) => answer === status.resourceExhausted)).toHaveLength(150 - room);
      expect(refused()).toEqual(room < 150 ? { ResourceExhausted: 150 - room } : {});
    },
  );

  test("P05: short of memory it takes no new stream and says so; those that are there go on", async () => {
    heapShare = 0.9;
    const late = await delta();
    late.send({ node: nodeOf("late"), typeUrl: CDS });
    await expect(late.next()).rejects.toMatchObject({
      status: status.resourceExhausted,
      message: expect.stringContaining("short of memory: try again later"),
    });
    change();
    await allReached();
    expect(overload.refusals()).toEqual([{ what: "stream", cause: "memory", count: 1 }]);
    heapShare = 0.7;
    const again = await delta();
    again.send({ node: nodeOf("late"), typeUrl: CDS });
    expect((await again.next()).resources).toHaveLength(1);
    expect(refused()).toEqual({ ResourceExhausted: 1 });
  });

  test("X13: before the objects are read there is no config, least of all an empty one", async () => {
    ready = false;
    const early = await sotw();
    early.send({ node: nodeOf("early"), typeUrl: CDS });
    await expect(early.next()).rejects.toMatchObject({ status: status.unavailable });
    ready = true;
    expect(refused()).toEqual({ Unavailable: 1 });
  });

  test("X14: the other protocol's request, and a wildcard that comes and goes", async () => {
    const other = toBinary(
      DeltaDiscoveryRequestSchema,
      create(DeltaDiscoveryRequestSchema, { node: nodeOf("bad"), typeUrl: CDS }),
    );
    expect(await raw(other)).toBe(status.invalidArgument);
    const bad = await delta();
    bad.send({ node: nodeOf("bad"), typeUrl: CDS, resourceNamesSubscribe: ["tick"] });
    expect((await bad.next()).resources).toHaveLength(1);
    for (let i = 0; i < 50; i++) {
      bad.send({ typeUrl: CDS, resourceNamesSubscribe: ["*"] });
      bad.send({ typeUrl: CDS, resourceNamesUnsubscribe: ["*"] });
    }
    bad.send({ typeUrl: LDS });
    let response = await bad.next();
    for (; response.typeUrl !== LDS; response = await bad.next()) expect(response.removedResources).toEqual([]);
    expect(refused()).toEqual({ InvalidArgument: 1 });
  });

  test("X15: what was deleted while a proxy was away is in the first response, once", async () => {
    const bad = await delta();
    const held = { gone: "1", tick: "unknown" };
    bad.send({ node: nodeOf("bad"), typeUrl: CDS, initialResourceVersions: held });
    const first = await bad.next();
    expect([first.removedResources, first.resources.map(({ name }) => name)]).toEqual([["gone"], ["tick"]]);
    expect(counted("pilot_xds_pushes cds")).toBe(1);
    change();
    expect((await bad.next()).removedResources).toEqual([]);
  });

  test("X16: a thousand streams of one node on one connection, and no more", async () => {
    const rpc = client();
    const streams = await Promise.all(Array.from({ length: 1000 }, () => sotw(undefined, rpc)));
    for (const stream of streams) stream.send({ node: nodeOf("same"), typeUrl: CDS });
    await Promise.all(streams.map((stream) => stream.next()));
    const further = await sotw(undefined, rpc);
    further.send({ node: nodeOf("same"), typeUrl: CDS });
    change();
    await Promise.all(streams.map((stream) => stream.next()));
    expect(ads.status()).toHaveLength(1200);
    expect([...gauges].filter(([name]) => name.startsWith("pilot_xds ")).map(([, value]) => value)).toEqual([1200]);
  });

  test.each(variants)("X17: a proxy that proved to be another: %s", async (_, start) => {
    for (const who of ["other/sa", "default/other"]) {
      const bad = await start(who);
      bad.send({ node: nodeOf("bad"), typeUrl: CDS });
      expect(await bad.ended()).toBe(status.permissionDenied);
    }
    expect(refused()).toEqual({ PermissionDenied: 2 });
  });

  test("X18: bytes that are no request, and noise before HTTP/2", async () => {
    expect(await raw(Buffer.from("0a05ff", "hex"))).toBe(status.invalidArgument);
    for (let i = 0; i < 50; i++)
      expect(await raw(Buffer.concat([Buffer.from([0x0f]), randomBytes(200)]))).toBe(status.invalidArgument);
    const noises = [
      `GET / HTTP/1.1\r\nauthorization: Bearer ${token}\r\n\r\n`,
      // Of TLS: a first message that is empty, and one without its end.
      "\x16\x03\x01\x00\x04\x01\x00\x00\x00",
      "\x16\x03\x01\x02\x00\x01\x00",
      `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${"\xff".repeat(9)}`,
    ];
    for (const to of [port, securePort])
      for (const noise of noises) {
        const socket = connectSocket(to, "127.0.0.1");
        socket.on("error", () => {});
        socket.end(noise, "latin1");
        socket.resume();
        await once(socket, "close");
      }
    const rude = await sotw();
    rude.send({ node: nodeOf("rude"), typeUrl: CDS });
    await rude.next();
    rude.stream.cancel();
    // Who stops within a handshake only went away.
    expect(refused()).toEqual({ InvalidArgument: 51, BadConnection: 2 * noises.length - 1 });
  });

  test("X19: a token that expires ends its stream", async () => {
    const bad = await sotw("default/sa");
    bad.send({ node: nodeOf("bad"), typeUrl: CDS });
    await bad.next();
    revoked.add("default/sa");
    expect(await bad.ended()).toBe(status.unauthenticated);
    expect(refused()).toEqual({ Unauthenticated: 1 });
  });

  test("X19: a token that is still good is asked for again and keeps its stream, until it is another's", async () => {
    expect(defaultAdsLimits.reauthenticateMs).toBeLessThanOrEqual(30 * 60_000);
    const who = "default/sa/kept";
    const kept = await sotw(who);
    kept.send({ node: nodeOf("kept"), typeUrl: CDS });
    await kept.next();
    await expect.poll(() => shown.get(who)).toBeGreaterThan(2);
    change();
    expect((await kept.next()).resources).toHaveLength(1);
    became.set(who, "default/other");
    expect(await kept.ended()).toBe(status.permissionDenied);
    expect(refused()).toEqual({ PermissionDenied: 1 });
  });

  test("X20: a resource that a proxy refuses stays refused, is told, and keeps no other from it", async () => {
    const bad = await delta();
    bad.send({ node: nodeOf("bad"), typeUrl: CDS });
    bad.send({ typeUrl: CDS, responseNonce: (await bad.next()).nonce });
    const refusable = (content: string): void => {
      tick++;
      source.set({ [CDS]: [resource("tick", `${tick}`), resource("bad", content)] });
    };
    refusable("poison");
    const { nonce } = await bad.next();
    const said = (key: string): string => `Error adding/updating cluster(s) bad: proto constraint near "${key}"`;
    const message = said("[redacted]");
    bad.send({ typeUrl: CDS, responseNonce: nonce, errorDetail: { code: 13, message: said(token) } });
    bad.send({ typeUrl: LDS });
    await bad.next();
    expect(ads.status().at(-1)?.types[0]).toMatchObject({ refused: new Map([["bad", message]]), lastError: message });
    refusable("poison");
    expect((await bad.next()).resources.map(({ name }) => name)).toEqual(["tick"]);
    refusable("cure");
    expect((await bad.next()).resources.map(({ name }) => name).sort()).toEqual(["bad", "tick"]);
    expect(counted("pilot_total_xds_rejects cds")).toBe(1);
    expect(gauges.get("pilot_xds_cds_reject bad.default Internal")).toBe(1);
  });

  test("X20: a response that is too large for its proxy comes in parts, and only what is so by itself is refused", async () => {
    const names = Array.from({ length: 16 }, (_, i) => `l${i}`);
    const set = (bytes: number, huge: number): void =>
      source.set({
        [LDS]: [...names.map((name) => resource(name, Buffer.alloc(bytes))), resource("huge", Buffer.alloc(huge))],
      });
    set(1, 1);
    const bad = await delta();
    bad.send({ node: nodeOf("bad"), typeUrl: LDS });
    const message = "the message is too large";
    const held = new Map<string, number>();
    const removed: string[] = [];
    const reading = (async () => {
      for await (const { resources, removedResources, nonce } of bad.stream.messages) {
        const sizes = resources.map(({ name, resource: content }) => [name, content?.value.length ?? 0] as const);
        const isTooLarge = sizes.reduce((sum, [, size]) => sum + size, 0) > 1_000_000;
        if (!isTooLarge) for (const [name, size] of sizes) held.set(name, size);
        removed.push(...removedResources);
        bad.send({ typeUrl: LDS, responseNonce: nonce, ...(isTooLarge ? { errorDetail: { code: 8, message } } : {}) });
      }
    })().catch(() => {});
    await expect.poll(() => held.size).toBe(17);
    set(200_000, 2_000_000);
    const refused = () => ads.status().at(-1)?.types[0]?.refused;
    await expect
      .poll(() => [refused(), names.filter((name) => held.get(name) !== 200_000)])
      .toEqual([new Map([["huge", message]]), []]);
    // The one that it has of before stays.
    expect([held.get("huge"), removed]).toEqual([1, []]);
    expect(counted("pilot_total_xds_rejects lds")).toBeGreaterThan(0);
    source.set({ [LDS]: [resource("l", "l")] });
    bad.stream.cancel();
    await reading;
  });

  test("after all of it no more is held than before", async () => {
    // Some of it is let go after seconds, such as what a reader has not taken.
    await expect.poll(heldBytes, { interval: 1000, timeout: 60_000 }).toBeLessThan(1.1 * heldBefore);
  });
});

/** The server's side of the stream that comes next. */
function nextServerStream(): Promise<ServerHttp2Stream> {
  const channel = "http2.server.stream.created";
  const { promise, resolve } = Promise.withResolvers<ServerHttp2Stream>();
  const onCreated = (message: unknown): void => {
    unsubscribe(channel, onCreated);
    resolve((message as { readonly stream: ServerHttp2Stream }).stream);
  };
  subscribe(channel, onCreated);
  return promise;
}

/** A message of gRPC. */
function framed(message: Uint8Array, flag = 0): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flag;
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** A request whose node has metadata of so many levels, written from its end as the lengths come first. */
function deepRequest(levels: number): Uint8Array {
  const bytes = Buffer.alloc(levels * 20 + 100);
  let at = bytes.length;
  const put = (...values: number[]): void => {
    at -= values.length;
    bytes.set(values, at);
  };
  const wrap = (tag: number): void => {
    const length: number[] = [];
    let rest = bytes.length - at;
    for (; rest > 127; rest >>= 7) length.push((rest & 127) | 128);
    put(tag, ...length, rest);
  };
  for (let i = 0; i < levels; i++) {
    if (i > 0) {
      wrap(0x2a);
      wrap(0x12);
    }
    put(0x0a, 1, 0x61);
    wrap(0x0a);
  }
  wrap(0x1a);
  wrap(0x12);
  return bytes.subarray(at);
}
