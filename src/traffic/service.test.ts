import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import {
  Edge_Protocol,
  Edge_Side,
  FromAgentSchema,
  type ReportSchema,
  type ToAgent,
  TrafficService,
} from "../gen/fairlead/traffic_pb.js";
import { silentLogger } from "../lib/index.ts";
import { type ClientStream, createRpcClient, createRpcServer, protoMethod, type RpcClient } from "../rpc/index.ts";
import { createTapHub, createTrafficService, summarize } from "./index.ts";
import type { TapHub } from "./tap.ts";
import { requests, type TestStore, testStore } from "./testing.ts";

const method = protoMethod(TrafficService.method.report);
const identityOf = (account: string) => ({ trustDomain: "cluster.local", namespace: "shop", serviceAccount: account });
const workloads = new Map([
  ["10.0.0.1", { namespace: "shop", workload: "front-v1", app: "front", version: "v1", identity: "front" }],
  ["10.0.0.2", { namespace: "shop", workload: "back-v1", app: "back", version: "v1", identity: "back" }],
]);

const callsPerClient = 20;

let counted = new Map<string, number>();
let kept: TestStore = testStore();
let hub: TapHub = createTapHub({ now: () => new Date(), monotonicMs: () => 0, headers: [] });
let client: RpcClient;
/** The store is another one in each test; the server, which takes no long time to start, too. */
let server: ReturnType<typeof createRpcServer> | undefined;

async function serve(): Promise<void> {
  counted = new Map();
  kept = testStore();
  hub = createTapHub({ now: () => new Date(), monotonicMs: () => performance.now(), headers: ["user-agent"] });
  const route = createTrafficService({
    store: kept.store,
    taps: hub,
    authenticate: (call) => {
      const account = call.metadata("x-account");
      return account === undefined ? undefined : identityOf(account);
    },
    workloadAt(address) {
      const found = workloads.get(address);
      return found && { ...found, identity: `spiffe://cluster.local/ns/shop/sa/${found.identity}` };
    },
    metrics: {
      count: (name, { result = "" }, by = 1) =>
        counted.set(`${name} ${result}`, (counted.get(`${name} ${result}`) ?? 0) + by),
    },
    monotonicMs: () => 0,
    maxCallsPerClient: callsPerClient,
    log: silentLogger,
  });
  server = createRpcServer({ routes: [route], log: silentLogger });
  client = createRpcClient({ target: await server.listen({ host: "127.0.0.1", port: 0 }) });
}

interface Agent {
  send(message: MessageInitShape<typeof FromAgentSchema>["message"]): Promise<void>;
  /** The number that was acknowledged. */
  report(report: MessageInitShape<typeof ReportSchema>): Promise<number | undefined>;
  /** What it is told next. */
  heard(): Promise<ToAgent["message"] | undefined>;
  /** How the call ends. */
  end(): Promise<string>;
  close(): void;
}

async function agent(account?: string, address = "10.0.0.1", run = "run"): Promise<Agent> {
  const metadata: Record<string, string> = account === undefined ? {} : { "x-account": account };
  const stream: ClientStream<unknown, ToAgent> = await client.stream(method, { metadata });
  const send: Agent["send"] = (message) => stream.send(create(FromAgentSchema, { message } as never));
  await send({ case: "hello", value: { address, run } });
  return {
    send,
    async report(report) {
      await send({ case: "report", value: report });
      const { value } = await stream.messages.next();
      return value?.message.case === "acknowledged" ? value.message.value : undefined;
    },
    heard: async () => (await stream.messages.next()).value?.message,
    async end() {
      try {
        while (!(await stream.messages.next()).done);
        return "ended";
      } catch (error) {
        return String(error);
      }
    },
    close: stream.cancel,
  };
}

const toBack = (counts: readonly number[], more: object = {}) => ({
  ...{ side: Edge_Side.SOURCE, protocol: Edge_Protocol.HTTP, counts: [...counts] },
  peer: { namespace: "shop", workload: "back-v1", app: "back", version: "v1" },
  service: { host: "back.shop.svc.cluster.local", name: "back", namespace: "shop" },
  ...more,
});
const seen = async (): Promise<number> =>
  (await kept.store.snapshot({ lastMs: 60_000 })).traffic.reduce(
    (sum, { bySource }) => sum + (bySource?.requests?.requests ?? 0),
    0,
  );
const count = (name: string): number => counted.get(`fairlead_traffic_${name}`) ?? 0;

describe("reports of agents", () => {
  beforeEach(async () => {
    await server?.close();
    client?.close();
    await serve();
  });
  afterAll(async () => {
    client.close();
    await server?.close();
  });

  test("are counted under who has sent them, whatever they say", async () => {
    const front = await agent("front");
    expect(
      await front.report({ sequence: 1, edges: [toBack(requests(12), { flags: [{ flag: "UF", count: 2 }] })] }),
    ).toBe(1);
    const back = await agent("back", "10.0.0.2");
    const called = { side: Edge_Side.DESTINATION, peer: { namespace: "shop", workload: "front-v1" } };
    expect(await back.report({ sequence: 1, edges: [toBack(requests(11, { mutual: 11 }), called)] })).toBe(1);
    const snapshot = await kept.store.snapshot({ lastMs: 60_000 });
    expect(snapshot).toMatchObject({ reporters: 2, edges: 1 });
    expect(snapshot.traffic[0]).toMatchObject({
      source: { namespace: "shop", workload: "front-v1", app: "front" },
      destination: { workload: "back-v1" },
      flags: { UF: 2 },
    });
    expect(summarize(snapshot, "workload").find(({ name }) => name === "back-v1")).toMatchObject({
      requests: { requests: 12 },
      mutualTls: "all",
    });
    front.close();
    await expect.poll(() => kept.store.about().reporters).toBe(1);
    back.close();
  });

  test("of whoever proves nothing, or is not at its address, are refused", async () => {
    expect(await (await agent()).end()).toMatch(/authentication failure/);
    const forged = await agent("front", "10.0.0.2");
    expect(await forged.end()).toMatch(/another workload is at this address/);
    expect([await seen(), count("reports_total refused"), kept.store.about().reporters]).toEqual([0, 2, 0]);
    // Nobody is known there: the namespace is proven all the same.
    const stranger = await agent("front", "10.9.9.9");
    expect(await stranger.report({ sequence: 1, edges: [toBack(requests(1))] })).toBe(1);
    expect((await kept.store.snapshot({ lastMs: 60_000 })).traffic[0]?.source).toMatchObject({
      namespace: "shop",
      workload: "",
    });
    stranger.close();
  });

  test("count once, also when they are sent again, on the same call or another", async () => {
    const front = await agent("front");
    for (const sequence of [1, 1, 2, 1])
      expect(await front.report({ sequence, edges: [toBack(requests(5))] })).toBe(sequence);
    expect([await seen(), count("reports_total replayed")]).toEqual([10, 2]);
    const again = await agent("front");
    expect(await front.end()).toMatch(/the agent has called again/);
    expect(await again.report({ sequence: 2, edges: [toBack(requests(5))] })).toBe(2);
    expect(await again.report({ sequence: 3, edges: [toBack(requests(5))] })).toBe(3);
    expect(await seen()).toBe(15);
    // Another run begins anew.
    const restarted = await agent("front", "10.0.0.1", "next");
    expect(await restarted.report({ sequence: 1, edges: [toBack(requests(5))] })).toBe(1);
    expect(await seen()).toBe(20);
    restarted.close();
  });

  test("lose the edges that cannot be, and no others", async () => {
    const front = await agent("front");
    const bad = [
      toBack(requests(5), { side: Edge_Side.UNKNOWN }),
      toBack(requests(5), { protocol: 77 }),
      toBack([5, 6]),
      toBack([4_000_000_000]),
      toBack(Array.from({ length: 500 }, () => 1)),
      toBack(requests(5), { peer: { workload: "<img src=x>" } }),
      toBack(requests(5), { peer: { workload: "a\u001b[2J" } }),
      toBack(requests(5), { service: { host: "a".repeat(300) } }),
      toBack(requests(5), { flags: [{ flag: "rm -rf", count: 1 }] }),
      toBack([1, 1, 1, 0], { protocol: Edge_Protocol.TCP, sentBytes: -5 }),
      toBack([1, 1, 1, 0], { protocol: Edge_Protocol.TCP, receivedBytes: Number.NaN }),
    ];
    expect(await front.report({ sequence: 1, edges: [...bad, toBack(requests(3))] })).toBe(1);
    expect([await seen(), kept.store.about().edges]).toEqual([3, 1]);
    expect([count("edges_total malformed"), count("edges_total taken")]).toEqual([bad.length, 1]);
    front.close();
  });

  test("P04: with very many names are folded, and too large or too many ones refused", async () => {
    const many = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, i) =>
        toBack(requests(1), { peer: { namespace: "evil", workload: `w${from + i}` } }),
      );
    const front = await agent("front");
    await front.report({ sequence: 1, edges: many(0, 400) });
    await front.report({ sequence: 2, edges: many(400, 800) });
    expect(await seen()).toBe(800);
    expect(kept.store.about()).toMatchObject({ edges: 257, foldedEdges: 1 });
    expect(count("edges_total folded")).toBe(800 - 256);
    // Neither another call nor an address where nobody is known gives room for more than that account's share.
    const again = await agent("front", "10.0.0.1", "again");
    await again.report({ sequence: 1, edges: many(800, 900) });
    expect(kept.store.about().edges).toBe(257);
    for (const address of ["10.9.0.1", "10.9.0.2"]) {
      const nowhere = await agent("front", address);
      await nowhere.report({
        sequence: 1,
        edges: many(1000, 1200).concat(address === "10.9.0.1" ? [] : many(1200, 1400)),
      });
      nowhere.close();
    }
    expect(kept.store.about()).toMatchObject({ edges: 257 + 256, foldedEdges: 1 });
    expect(await seen()).toBe(800 + 100 + 200 + 400);
    await again.send({ case: "report", value: { sequence: 2, edges: many(0, 20_000) } });
    expect(await again.end()).toMatch(/too large/);
    const hasty = await agent("front", "10.0.0.1", "hasty");
    for (let sequence = 1; sequence <= 20; sequence++)
      hasty.send({ case: "report", value: { sequence } }).catch(() => {});
    expect(await hasty.end()).toMatch(/too many reports/);
    expect(await seen()).toBe(1500);
    // Nor does another call, nor one from another address where nobody is known, start anew.
    const anew = await agent("front", "10.0.0.1", "anew");
    await anew.send({ case: "report", value: { sequence: 1 } });
    expect(await anew.end()).toMatch(/too many reports/);
    const elsewhere = await Promise.all([1, 2].map((i) => agent("front", `10.9.1.${i}`)));
    for (let sequence = 1; sequence <= 150; sequence++)
      for (const one of elsewhere) one.send({ case: "report", value: { sequence } }).catch(() => {});
    expect(await Promise.race(elsewhere.map((one) => one.end()))).toMatch(/too many reports/);
    for (const one of elsewhere) one.close();
    // Others are not disturbed.
    const back = await agent("back", "10.0.0.2");
    expect(await back.report({ sequence: 1, edges: [] })).toBe(1);
    back.close();
  });

  test("P04: of very many edges, or of other parts, are refused before they are looked at", async () => {
    for (const [edges, why] of [
      [Array.from({ length: 2000 }, () => ({})), /too large/],
      [Array.from({ length: 20_000 }, () => ({})), /more than 64000 parts/],
      [[{ flags: Array.from({ length: 20_000 }, () => ({})) }], /more than 64000 parts/],
    ] as const) {
      const front = await agent("front");
      await front.send({ case: "report", value: { sequence: 1, edges: [...edges] } });
      expect(await front.end()).toMatch(why);
    }
  });

  test("say who they are first, and nothing else comes in between", async () => {
    const stream = await client.stream(method, { metadata: { "x-account": "front" } });
    await stream.send(create(FromAgentSchema, { message: { case: "report", value: { sequence: 1 } } }));
    await expect(stream.messages.next()).rejects.toThrow(/no hello/);
    const front = await agent("front");
    await front.send({ case: "hello", value: { address: "10.0.0.2", run: "x" } });
    expect(await front.end()).toMatch(/no report/);
  });

  test("of one client are no more at once than it may have, whatever addresses it names", async () => {
    const greedy: Agent[] = [];
    for (let i = 0; i < callsPerClient; i++) {
      const one = await agent("front", `10.1.0.${i}`);
      expect(await one.report({ sequence: 1 })).toBe(1);
      greedy.push(one);
    }
    expect(await (await agent("front", "10.1.1.0")).end()).toMatch(/too many reporters of one client/);
    greedy[0]?.close();
    const isLetIn = async (): Promise<boolean> => {
      const next = await agent("front", "10.1.1.1");
      const told = await next.report({ sequence: 1 }).catch(() => undefined);
      next.close();
      return told === 1;
    };
    await expect.poll(isLetIn).toBe(true);
    for (const one of greedy) one.close();
  });

  test("over a long time are spread over a minute at most", async () => {
    kept.pass(600_000);
    const front = await agent("front");
    await front.report({ sequence: 1, coveredMs: 0xffff_ffff, edges: [toBack(requests(60))] });
    const points = await kept.store.series({ lastMs: 300_000 }, () => true);
    expect(points.filter(({ traffic }) => traffic.length > 0)).toHaveLength(6);
    front.close();
  });

  describe("live requests", () => {
    const request = (path: string, more: object = {}) => ({
      ...{ side: Edge_Side.SOURCE, peer: { namespace: "shop", workload: "back-v1" }, service: { name: "back" } },
      ...{ method: "GET", authority: "back", path, status: 200, durationMs: 3, mutual: true },
      ...more,
    });

    test("come from the agents that were asked, as they are told, for as long as somebody looks", async () => {
      const [front, back] = [await agent("front"), await agent("back", "10.0.0.2")];
      await front.report({ sequence: 1 });
      await back.report({ sequence: 1 });
      const tap = hub.open({ of: { workload: "front-v1" }, pathPrefix: "/a", maxStatus: 299, headers: ["user-agent"] });
      const order = await front.heard();
      expect(order).toMatchObject({
        case: "tap",
        value: { perSecond: 50, headers: ["user-agent"], filter: { pathPrefix: "/a", maxStatus: 299 } },
      });
      const id = order?.case === "tap" ? order.value.id : 0;
      const headers = { "user-agent": "curl", authorization: "Bearer secret" };
      await front.send({ case: "tapped", value: { id, requests: [request("/a", { headers })], leftOut: 3 } });
      expect(await tap.next(10_000)).toMatchObject({ leftOut: 3, proxies: 1, done: false });
      await front.send({ case: "tapped", value: { id, requests: [request("/b", { headers })] } });
      const { requests: live } = await tap.next(10_000);
      expect(live).toHaveLength(1);
      expect(live[0]).toMatchObject({
        source: { workload: "front-v1" },
        destination: { workload: "back-v1" },
        path: "/b",
      });
      expect(live[0]?.headers).toEqual({ "user-agent": "curl" });
      // Nobody has asked that one.
      await back.send({ case: "tapped", value: { id, requests: [request("/forged")] } });
      await back.report({ sequence: 2 });
      tap.close();
      expect(await front.heard()).toMatchObject({ case: "tap", value: { id, forMs: 0 } });
      expect(await tap.next(10_000)).toEqual({ requests: [], leftOut: 0, proxies: 1, done: true });
      front.close();
      back.close();
    });

    test("are as many as may be shown, and what cannot be is left out", async () => {
      const front = await agent("front");
      await front.report({ sequence: 1 });
      const tap = hub.open({ perSecond: 5 });
      const order = await front.heard();
      const id = order?.case === "tap" ? order.value.id : 0;
      const many = Array.from({ length: 40 }, (_, i) => request(`/${i}`));
      const odd = [request("/x", { side: Edge_Side.UNKNOWN }), request("/x", { peer: { workload: "<b>" } })];
      const long = request("/".repeat(5000), { durationMs: Number.NaN, method: "\u001b[2J".repeat(100) });
      await front.send({ case: "tapped", value: { id, requests: [...odd, long, ...many] } });
      const { requests: live, leftOut } = await tap.next(10_000);
      expect(live.length + leftOut).toBe(41);
      expect(live.length).toBeLessThan(10);
      expect([live[0]?.path.length, live[0]?.durationMs, live[0]?.method.length]).toEqual([1024, 0, 32]);
      tap.close();
      front.close();
    });

    test("are shown to few, with the headers that are allowed, and to agents that come later too", async () => {
      expect(() => hub.open({ headers: ["x-request-id"] })).toThrow(/may not be shown/);
      expect(() => hub.open({ headers: ["authorization"] })).toThrow(/note no header/);
      expect(() => hub.open({ forMs: -1 })).toThrow(/above zero/);
      const taps = Array.from({ length: 4 }, () => hub.open({ of: { namespace: "shop" } }));
      expect(() => hub.open({})).toThrow(/look at live requests already/);
      const late = await agent("front");
      expect(await late.heard()).toMatchObject({ case: "tap", value: { id: 1 } });
      for (const tap of taps) tap.close();
      expect(hub.size).toBe(0);
      const short = hub.open({ forMs: 10 });
      await expect.poll(async () => (await short.next(5)).done).toBe(true);
      late.close();
    });

    test("that nobody wants, and too many of them, end the call", async () => {
      const front = await agent("front");
      for (let i = 0; i < 100; i++) front.send({ case: "tapped", value: { id: 77 } }).catch(() => {});
      expect(await front.end()).toMatch(/too many requests at once/);
    });
  });
});
