import { describe, expect, test } from "vitest";
import { elsewhere } from "../../read-api/index.ts";
import type { TrafficView } from "../../traffic/index.ts";
import { edge, party, requests, testStore } from "../../traffic/testing.ts";
import { maxEdges, maxNodes, readGraph, trafficFindings } from "./graph.ts";
import { ofNamespace, ofService, ofWorkload, readSeen } from "./seen.ts";

const [front, back, db] = [party("front"), party("back"), party("db", "data")];

function busy() {
  const { store } = testStore();
  store.reporters(1);
  store.add(edge(front, back), "source", { counts: requests(200, { serverErrors: 20 }, 80) });
  store.add(edge(front, back), "destination", { counts: requests(200, { serverErrors: 20, mutual: 200 }, 80) });
  store.add(edge(back, db, "tcp"), "source", { counts: [3, 1, 0, 3, 5000, 6000] });
  return store;
}

const minute = (store: TrafficView) => store.snapshot({ lastMs: 60_000 });

const unmarked = { ofHost: () => [], ofPlace: () => [] };

describe("what is drawn", () => {
  test("is namespaces first, with what goes between them", async () => {
    const { nodes, edges } = readGraph(await minute(busy()), { namespace: "" }, unmarked);
    expect(nodes.map(({ id }) => id).sort()).toEqual(["data", "shop"]);
    expect(edges.map(({ from, to, requests: count }) => [from, to, count])).toEqual([
      ["shop", "shop", 200],
      ["shop", "data", 0],
    ]);
  });

  test("is then a namespace's workloads, and those that they talk with", async () => {
    const { nodes, edges, folded } = readGraph(await minute(busy()), { namespace: "data" }, unmarked);
    expect(nodes.map(({ id }) => id).sort()).toEqual(["data/db", "shop/back"]);
    expect(edges).toMatchObject([{ from: "shop/back", to: "data/db", mutualTls: "none", protocols: ["tcp"] }]);
    const shop = readGraph(await minute(busy()), { namespace: "shop" }, unmarked);
    expect(shop.edges[0]).toMatchObject({
      from: "shop/front",
      to: "shop/back",
      errors: expect.closeTo(0.1),
      mutualTls: "all",
    });
    expect(folded).toEqual({ nodes: 0, edges: 0 });
  });

  test("is never more than can be seen: the least busy are counted", async () => {
    const { store } = testStore();
    for (let i = 0; i < 150; i++)
      for (let j = 0; j < 4; j++)
        store.add(edge(party(`w${i}`), party(`w${(i + j + 1) % 150}`)), "source", { counts: requests(i + 1) });
    const { nodes, edges, folded } = readGraph(await minute(store), { namespace: "shop" }, unmarked);
    expect([nodes.length, folded.nodes]).toEqual([maxNodes, 150 - maxNodes]);
    expect(edges.length).toBe(maxEdges);
    expect(edges.length + folded.edges).toBe(600);
    const drawn = new Set(nodes.map(({ id }) => id));
    expect(edges.every(({ from, to }) => drawn.has(from) && drawn.has(to))).toBe(true);
    expect(drawn.has("shop/w149") && !drawn.has("shop/w1")).toBe(true);
  });
});

test("of what may not be seen there is one place without a name, and nothing of its own", async () => {
  const sees = (namespace: string): boolean => namespace === "data";
  const { nodes, edges } = readGraph(await minute(busy()), { namespace: "", sees }, unmarked);
  expect(nodes.map(({ id }) => id).sort()).toEqual([elsewhere, "data"]);
  expect(edges).toMatchObject([{ from: elsewhere, to: "data", hosts: ["db.data.svc.cluster.local"] }]);
  expect(JSON.stringify(readGraph(await minute(busy()), { namespace: "data", sees }, unmarked))).not.toMatch(
    /shop|front|back/,
  );
});

test("a place has its callers, those whom it calls, and its course", async () => {
  const store = busy();
  const rates = { view: store, everywhere: async () => minute(store) };
  const found = await readSeen(rates, { lastMs: 60_000 }, ofWorkload("shop/back"));
  expect(found.callers.map(({ from }) => from)).toEqual(["shop/front"]);
  expect(found.calls.map(({ to }) => to)).toEqual(["data/db"]);
  expect(Math.max(...found.series.map(({ perSecond }) => perSecond))).toBe(20);
  const host = await readSeen(rates, { lastMs: 60_000 }, ofService("back.shop.svc.cluster.local"));
  expect([host.callers.map(({ from }) => from), host.calls]).toEqual([["shop/front"], []]);
  const all = await readSeen(rates, { lastMs: 60_000 }, ofNamespace("shop"));
  expect([all.callers.map(({ from }) => from), all.calls.map(({ to }) => to)]).toEqual([["shop"], ["shop", "data"]]);
  const sees = (namespace: string): boolean => namespace === "data";
  const seen = await readSeen(rates, { lastMs: 60_000, sees }, ofWorkload("data/db"));
  expect(seen.callers.map(({ from }) => from)).toEqual([elsewhere]);
});

test("errors and denials are told where they are more than a few", async () => {
  expect(trafficFindings(await minute(busy())).map(({ what, level }) => [what, level])).toEqual([
    ["answers with errors", "warning"],
  ]);
  const { store } = testStore();
  store.add(edge(front, back), "source", { counts: requests(9, { serverErrors: 9 }) });
  store.add(edge(back, db), "source", { counts: requests(1000, { serverErrors: 10 }) });
  expect(trafficFindings(await minute(store))).toEqual([]);
  store.add(edge(front, db), "source", { counts: requests(20, { denied: 20 }) });
  expect(trafficFindings(await minute(store))).toMatchObject([{ what: "denied", level: "error" }]);
});
