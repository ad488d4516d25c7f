/** Reports of an agent, by its own client, to the control plane's own service: what an outage, or another control plane, makes of them. */
import { afterEach, describe, expect, test } from "vitest";
import type { EdgeDelta } from "../../src/agent/telemetry/edge-counts.ts";
import { createTaps } from "../../src/agent/telemetry/tap.ts";
import { reportTraffic } from "../../src/agent/telemetry/traffic-reporter.ts";
import { silentLogger } from "../../src/lib/index.ts";
import { createRpcClient, createRpcServer, type Route } from "../../src/rpc/index.ts";
import { createTapHub, createTrafficService, createTrafficStore, type TrafficStore } from "../../src/traffic/index.ts";

const identity = { trustDomain: "cluster.local", namespace: "shop", serviceAccount: "front" };
const own = {
  ...{ name: "front", namespace: "shop", cluster: "Kubernetes", app: "front", version: "v1" },
  ...{ canonicalService: "front", canonicalRevision: "v1" },
};
const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function createRoute(): { readonly store: TrafficStore; readonly route: Route } {
  const clocks = { now: () => new Date(), monotonicMs: () => performance.now() };
  const store = createTrafficStore(clocks);
  const route = createTrafficService({
    ...{
      ...clocks,
      store,
      taps: createTapHub({ ...clocks, headers: [] }),
      authenticate: () => identity,
      metrics: { count: () => {} },
      log: silentLogger,
    },
    workloadAt: () => undefined,
  });
  return { store, route };
}

async function serve(route: Route | undefined, port = 0): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = createRpcServer({ routes: route ? [route] : [], log: silentLogger });
  const bound = await server.listen({ host: "127.0.0.1", port });
  closers.push(() => server.close());
  return { port: bound.port, close: () => server.close() };
}

const edge = (workload: string, requests: number): EdgeDelta => ({
  ...{ side: "source", protocol: "http", counts: [requests], flags: new Map() },
  peer: { namespace: "shop", workload, app: workload, version: "v1" },
  service: { host: "", name: workload, namespace: "shop" },
});

interface Reporting {
  /** Counted, and not yet asked for. */
  readonly waiting: EdgeDelta[];
  /** Makes time pass for the agent. */
  pass(ms: number): void;
  readonly said: string[];
}

function report(port: number): Reporting {
  const client = createRpcClient({ target: { host: "127.0.0.1", port } });
  const waiting: EdgeDelta[] = [];
  const said: string[] = [];
  let passedMs = 0;
  const stop = new AbortController();
  const log = { ...silentLogger, info: (message: string) => void said.push(message) };
  const running = reportTraffic(
    {
      ...{ client, address: "10.0.0.1", intervalMs: 20, random: () => 0, log },
      edges: { take: () => waiting.splice(0) },
      taps: createTaps({
        own,
        table: { lookup: () => undefined },
        now: () => new Date(),
        monotonicMs: () => performance.now(),
      }),
      monotonicMs: () => performance.now() + passedMs,
    },
    stop.signal,
  );
  closers.push(async () => {
    stop.abort();
    client.close();
    await running;
  });
  return {
    waiting,
    said,
    pass(ms) {
      passedMs += ms;
    },
  };
}

const seen = async (store: TrafficStore): Promise<number> =>
  (await store.snapshot({ lastMs: 600_000 })).traffic.reduce(
    (sum, { bySource }) => sum + (bySource?.requests?.requests ?? 0),
    0,
  );

describe("an agent", () => {
  test("loses nothing and counts nothing twice over a short outage", async () => {
    const { store, route } = createRoute();
    const first = await serve(route);
    const agent = report(first.port);
    agent.waiting.push(edge("back", 5));
    await expect.poll(() => seen(store)).toBe(5);
    await first.close();
    agent.waiting.push(edge("back", 7));
    await expect.poll(() => agent.said).toContain("reports on requests wait");
    await serve(route, first.port);
    await expect.poll(() => seen(store)).toBe(12);
    agent.waiting.push(edge("back", 1));
    await expect.poll(() => seen(store)).toBe(13);
  });

  test("forgets what a longer outage has counted, which would be a peak at its end", async () => {
    const { store, route } = createRoute();
    const first = await serve(route);
    const agent = report(first.port);
    agent.waiting.push(edge("back", 5));
    await expect.poll(() => seen(store)).toBe(5);
    await first.close();
    await expect.poll(() => agent.said).toContain("reports on requests wait");
    agent.waiting.push(edge("back", 1000));
    agent.pass(120_000);
    await serve(route, first.port);
    await expect.poll(() => agent.waiting.length).toBe(0);
    agent.waiting.push(edge("back", 2));
    await expect.poll(() => seen(store)).toBe(7);
  });

  test("tells more edges than one report may have in several", async () => {
    const { store, route } = createRoute();
    const agent = report((await serve(route)).port);
    agent.waiting.push(...Array.from({ length: 600 }, (_, i) => edge(`w${i}`, 1)));
    await expect.poll(() => seen(store)).toBe(600);
  });

  test("leaves a control plane alone that takes no reports", async () => {
    const agent = report((await serve(undefined)).port);
    await expect.poll(() => agent.said).toEqual(["the control plane takes no reports on requests"]);
  });
});
