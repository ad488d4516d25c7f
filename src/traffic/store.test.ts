import { describe, expect, test } from "vitest";
import { mergeSnapshots, summarize } from "./index.ts";
import { edge, party, requests, testStore } from "./testing.ts";

const minute = { lastMs: 60_000 };
const [front, back] = [party("front"), party("back")];
const toBack = edge(front, back);

describe("the rings", () => {
  test("requests of the last minute are there, older ones only where one asks for longer, and none after an hour", async () => {
    const { store, pass } = testStore();
    const seen = async (lastMs: number): Promise<number> =>
      (await store.snapshot({ lastMs })).traffic.reduce(
        (sum, { bySource }) => sum + (bySource?.requests?.requests ?? 0),
        0,
      );
    store.add(toBack, "source", { counts: requests(7) });
    expect(await seen(60_000)).toBe(7);
    pass(90_000);
    store.add(toBack, "source", { counts: requests(5) });
    expect([await seen(60_000), await seen(300_000), await seen(3_600_000)]).toEqual([5, 12, 12]);
    pass(11 * 60_000);
    expect([await seen(60_000), await seen(600_000), await seen(3_600_000)]).toEqual([0, 0, 12]);
    pass(60 * 60_000);
    expect(await seen(3_600_000)).toBe(0);
    store.add(edge(front, party("other")), "source", { counts: requests(1) });
    expect(store.about().edges).toBe(1);
  });

  test("counts that do not fit two bytes are kept exactly, and their memory is accounted for", async () => {
    const { store } = testStore();
    store.add(toBack, "source", { counts: requests(65_535) });
    const before = store.about().bytes;
    store.add(toBack, "source", { counts: requests(1_000_000) });
    expect((await store.snapshot(minute)).traffic[0]?.bySource?.requests).toMatchObject({ requests: 1_065_535 });
    expect(store.about().bytes).toBeGreaterThan(before);
    const bytes = edge(front, back, "tcp");
    store.add(bytes, "destination", { counts: [1, 0, 1, 0, 5e12, 3] });
    expect((await store.snapshot(minute)).traffic[1]?.byDestination?.connections).toMatchObject({
      opened: 1,
      sentBytes: 5e12,
    });
  });

  test("what was counted over a longer time is spread over it, and nothing is lost", async () => {
    const { store, pass } = testStore();
    pass(120_000);
    store.add(toBack, "source", { counts: requests(61), coveredMs: 60_000 });
    const points = await store.series({ lastMs: 60_000 }, () => true);
    const counts = points.map(({ traffic }) => traffic[0]?.bySource?.requests?.requests ?? 0);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(61);
    expect(Math.max(...counts)).toBe(11);
    expect(points.map(({ at }) => at)).toEqual([...points.map(({ at }) => at)].sort());
  });

  test("thousands are read in turns, between which others have theirs", async () => {
    const { store } = testStore();
    for (let i = 0; i < 2000; i++) store.add(edge(party(`w${i}`), back), "source", { counts: requests(1) });
    const reading = store.series({ lastMs: 3_600_000 }, () => true).then(() => "read");
    const othersTurn = new Promise((resolve) => setImmediate(resolve, "others"));
    expect(await Promise.race([reading, othersTurn])).toBe("others");
    await reading;
  });

  test("a range that ended before is told alone", async () => {
    const { store, pass } = testStore();
    store.add(toBack, "source", { counts: requests(3) });
    pass(120_000);
    store.add(toBack, "source", { counts: requests(4) });
    const traffic = (await store.snapshot({ lastMs: 60_000, endedMsAgo: 90_000 })).traffic;
    expect(traffic.map(({ bySource }) => bySource?.requests?.requests)).toEqual([3]);
  });

  test("the time that rates are taken over is the time that was counted", async () => {
    const { store, pass } = testStore();
    pass(20_000);
    store.add(toBack, "source", { counts: requests(40) });
    const snapshot = await store.snapshot(minute);
    expect(snapshot.seconds).toBe(20);
    expect(summarize(snapshot, "service")[0]?.requestsPerSecond).toBe(2);
    pass(600_000);
    expect((await store.snapshot(minute)).seconds).toBeGreaterThanOrEqual(60);
    expect((await store.snapshot(minute)).seconds).toBeLessThan(70);
  });
});

describe("too many edges", () => {
  test("are counted by namespace, then as one, and that is said", async () => {
    const { store } = testStore({ maxEdges: 100 });
    for (let i = 0; i < 1000; i++)
      store.add(edge(party(`w${i}`, `n${i % 50}`), back), "source", { counts: requests(1) });
    const { edges, foldedEdges, traffic } = await store.snapshot(minute);
    expect(edges - foldedEdges).toBe(100);
    expect(foldedEdges).toBeLessThanOrEqual(10);
    const all = traffic.reduce((sum, { bySource }) => sum + (bySource?.requests?.requests ?? 0), 0);
    expect(all).toBe(1000);
    expect(traffic.filter(({ folded }) => folded).every(({ source }) => source.workload === "")).toBe(true);
    expect(traffic.some(({ folded, source }) => folded && source.namespace !== "")).toBe(true);
    expect(traffic.some(({ folded, source }) => folded && source.namespace === "")).toBe(true);
  });

  test("as many as there may be, counted by both ends, take less than the memory that they may", async () => {
    const { store } = testStore();
    for (let i = 0; i < 5000; i++)
      for (const side of ["source", "destination"] as const)
        store.add(edge(party(`w${i}`), back), side, { counts: requests(1) });
    expect(store.about()).toMatchObject({ edges: 5000, foldedEdges: 0 });
    expect(store.about().bytes).toBeLessThan(60 * 1024 * 1024);
  });

  test("memory is bounded too", async () => {
    const { store } = testStore({ maxBytes: 1_000_000 });
    for (let i = 0; i < 2000; i++) store.add(edge(party(`w${i}`), back), "source", { counts: requests(100_000) });
    expect(store.about().bytes).toBeLessThanOrEqual(1_000_000);
    expect(store.about().foldedEdges).toBe(1);
    const all = (await store.snapshot(minute)).traffic.reduce(
      (sum, { bySource }) => sum + (bySource?.requests?.requests ?? 0),
      0,
    );
    expect(all).toBeGreaterThan(0.9 * 2000 * 100_000);
  });

  test("edges that grow take no more than there is, at the cost of those that were silent for longest", async () => {
    const { store, pass } = testStore({ maxBytes: 1_000_000 });
    const names = Array.from({ length: 135 }, (_, i) => edge(party(`w${i}`), back));
    for (const name of names) store.add(name, "source", { counts: requests(1) });
    const before = store.about().edges;
    expect(before).toBe(135);
    pass(10_000);
    for (const name of names.slice(60)) store.add(name, "source", { counts: requests(100_000) });
    expect(store.about().bytes).toBeLessThanOrEqual(1_000_000);
    const left = new Set((await store.snapshot(minute)).traffic.map(({ source }) => source.workload));
    expect([left.has("w134"), left.has("w0")]).toEqual([true, false]);
  });
});

describe("summaries", () => {
  test("what both ends have counted is there once, by the end that saw more, and mutual TLS by the server", async () => {
    const { store, pass } = testStore();
    pass(55_000);
    store.add(toBack, "source", { counts: requests(110, { serverErrors: 11 }) });
    store.add(toBack, "destination", { counts: requests(100, { serverErrors: 1, mutual: 90, plain: 10 }, 80) });
    for (const by of ["workload", "service", "namespace"] as const) {
      const row = summarize(await store.snapshot(minute), by).find(
        ({ name }) => name === (by === "namespace" ? "shop" : "back"),
      );
      expect(row).toMatchObject({ requestsPerSecond: 2, success: 0.9, mutualTls: "mixed", protocols: ["http"] });
      expect(row?.p50Ms).toBeLessThan(5);
    }
    const silent = summarize(await store.snapshot(minute), "workload").find(({ name }) => name === "front");
    expect(silent).toMatchObject({ success: undefined, requestsPerSecond: 0, mutualTls: "unknown" });
  });

  test("quantiles lie in the bucket where they are, and at its bound where there is no end", async () => {
    const { store } = testStore();
    store.add(toBack, "destination", { counts: requests(90, {}, 3) });
    store.add(toBack, "destination", { counts: requests(9, {}, 80) });
    store.add(toBack, "destination", { counts: requests(1, {}, 900_000) });
    const [row] = summarize(await store.snapshot(minute), "service");
    expect(row?.p50Ms).toBeCloseTo(1 + (4 * 50) / 90);
    expect(row?.p95Ms).toBeCloseTo(50 + (50 * 5) / 9);
    expect(row?.p99Ms).toBe(100);
  });

  test("what several control planes were told is one", async () => {
    const [one, other] = [testStore().store, testStore().store];
    one.add(toBack, "source", { counts: requests(10), flags: [["UF", 2]] });
    other.add(toBack, "destination", { counts: requests(8, { mutual: 8 }) });
    other.add(toBack, "source", { counts: requests(5), flags: [["UF", 1]] });
    one.reporters(1);
    other.reporters(1);
    const merged = mergeSnapshots(await one.snapshot(minute), await other.snapshot(minute));
    expect(merged).toMatchObject({ reporters: 2, edges: 1 });
    expect(merged.traffic[0]).toMatchObject({ flags: { UF: 3 }, bySource: { requests: { requests: 15 } } });
    expect(summarize(merged, "service")[0]).toMatchObject({ requests: { requests: 15 }, mutualTls: "all" });
  });
});
