import { describe, expect, test } from "vitest";
import { edge, party, requests, testStore } from "../../traffic/testing.ts";
import { maxEdges, maxNodes, readGraph, readWorkload, trafficFindings } from "./traffic.ts";

const [front, back, db] = [party("front"), party("back"), party("db", "data")];

function busy() {
  const { store } = testStore();
  store.reporters(1);
  store.add(edge(front, back), "source", { counts: requests(200, { serverErrors: 20 }, 80) });
  store.add(edge(front, back), "destination", { counts: requests(200, { serverErrors: 20, mutual: 200 }, 80) });
  store.add(edge(back, db, "tcp"), "source", { counts: [3, 1, 0, 3, 5000, 6000] });
  return store;
}

describe("what is drawn", () => {
  test("is namespaces first, with what goes between them", () => {
    const { nodes, edges } = readGraph(busy(), { namespace: "", lastMs: 60_000 });
    expect(nodes.map(({ id }) => id).sort()).toEqual(["data", "shop"]);
    expect(edges.map(({ from, to, requests: count }) => [from, to, count])).toEqual([
      ["shop", "shop", 200],
      ["shop", "data", 0],
    ]);
  });

  test("is then a namespace's workloads, and those that they talk with", () => {
    const { nodes, edges, folded } = readGraph(busy(), { namespace: "data", lastMs: 60_000 });
    expect(nodes.map(({ id }) => id).sort()).toEqual(["data/db", "shop/back"]);
    expect(edges).toMatchObject([{ from: "shop/back", to: "data/db", mutualTls: "none", protocols: ["tcp"] }]);
    const shop = readGraph(busy(), { namespace: "shop", lastMs: 60_000 });
    expect(shop.edges[0]).toMatchObject({
      from: "shop/front",
      to: "shop/back",
      errors: expect.closeTo(0.1),
      mutualTls: "all",
    });
    expect(folded).toEqual({ nodes: 0, edges: 0 });
  });

  test("is never more than can be seen: the least busy are counted", () => {
    const { store } = testStore();
    for (let i = 0; i < 150; i++)
      for (let j = 0; j < 4; j++)
        store.add(edge(party(`w${i}`), party(`w${(i + j + 1) % 150}`)), "source", { counts: requests(i + 1) });
    const { nodes, edges, folded } = readGraph(store, { namespace: "shop", lastMs: 60_000 });
    expect([nodes.length, folded.nodes]).toEqual([maxNodes, 150 - maxNodes]);
    expect(edges.length).toBe(maxEdges);
    expect(edges.length + folded.edges).toBe(600);
    const drawn = new Set(nodes.map(({ id }) => id));
    expect(edges.every(({ from, to }) => drawn.has(from) && drawn.has(to))).toBe(true);
    expect(drawn.has("shop/w149") && !drawn.has("shop/w1")).toBe(true);
  });
});

test("a workload has its callers, those whom it calls, and its course", () => {
  const found = readWorkload(busy(), "shop/back", 60_000, ["back-1.shop"]);
  expect(found?.callers.map(({ from }) => from)).toEqual(["shop/front"]);
  expect(found?.calls.map(({ to }) => to)).toEqual(["data/db"]);
  const most = Math.max(...(found?.series.map(({ perSecond }) => perSecond) ?? []));
  expect(most).toBe(20);
  expect(readWorkload(busy(), "shop/nobody", 60_000, [])).toBeUndefined();
});

test("errors and denials are told where they are more than a few", () => {
  expect(trafficFindings(busy()).map(({ what, level }) => [what, level])).toEqual([["answers with errors", "warning"]]);
  const { store } = testStore();
  store.add(edge(front, back), "source", { counts: requests(9, { serverErrors: 9 }) });
  store.add(edge(back, db), "source", { counts: requests(1000, { serverErrors: 10 }) });
  expect(trafficFindings(store)).toEqual([]);
  store.add(edge(front, db), "source", { counts: requests(20, { denied: 20 }) });
  expect(trafficFindings(store)).toMatchObject([{ what: "denied", level: "error" }]);
});
