import { expect, test } from "vitest";
import { createResourceSet, type Resource, type ResourceSet, types } from "../../../model/index.ts";
import { createMoves } from "./touched.ts";

const resource = (name: string, hash: string): Resource => ({ name, hash, needs: [], pieces: [], size: 0 });
const setOf = (hash: string): ResourceSet => createResourceSet([new Map([["80", resource("80", hash)]])]);

/** Two classes that share their sets go on by one version each time, for so long. */
function movesUntil(last: number) {
  const moves = createMoves(() => true);
  const sets = Array.from({ length: last + 1 }, (_, i) => setOf(`v${i}`));
  const classes = ["a", "b"].map((name) => ({ name }));
  for (const [i, now] of sets.entries()) {
    const before = sets[i - 1];
    if (!before) continue;
    for (const who of classes) moves.moved({ who, proxies: 2, type: types.route, before, now, version: i });
  }
  return moves;
}

test("what a change has touched is what sets became others in since then", async () => {
  const moves = movesUntil(3);
  const { resources, pairs, proxies } = await moves.touchedBy(3, new Set(["80", "81"]));
  expect(resources).toEqual([{ type: "RDS", name: "80", act: "changed", proxies: 4 }]);
  expect(pairs.map(({ before, after }) => [before?.hash, after?.hash])).toEqual([["v2", "v3"]]);
  expect(proxies).toBe(4);
});

test("of proxies that have gone further since, the change has touched each once", async () => {
  const { resources, pairs } = await movesUntil(3).touchedBy(1, new Set(["80"]));
  expect(resources).toEqual([{ type: "RDS", name: "80", act: "changed", proxies: 4 }]);
  expect(pairs.map(({ before, after }) => [before?.hash, after?.hash])).toEqual([["v0", "v1"]]);
});

test("what many classes share is looked at once for all of them", async () => {
  const names = Array.from({ length: 3000 }, (_, i) => `s${i}`);
  const large = (hash: string): ResourceSet =>
    createResourceSet([new Map(names.map((name) => [name, resource(name, hash)]))]);
  const [first, second, third] = [large("v0"), large("v1"), large("v2")];
  const moves = createMoves(() => true);
  const classes = Array.from({ length: 200 }, () => ({}));
  const move = (who: object, before: ResourceSet, now: ResourceSet, version: number): void =>
    moves.moved({ who, proxies: 2, type: types.cluster, before, now, version });
  for (const who of classes) move(who, first, second, 1);
  for (const who of classes.slice(1)) move(who, second, third, 2);
  move({}, second, third, 2);
  const startedMs = performance.now();
  const { resources, untold, proxies } = await moves.touchedBy(1, new Set(names));
  // Each name was noted for each class: it took four seconds of one turn.
  expect(performance.now() - startedMs).toBeLessThan(1000);
  expect([resources[0], resources.length + untold, proxies]).toEqual([
    { type: "CDS", name: "s0", act: "changed", proxies: 402 },
    names.length,
    402,
  ]);
});

test("what nobody waits for any longer is not kept, and makes room for what comes", async () => {
  const moves = movesUntil(10);
  expect(moves.kept).toBe(20);
  moves.forget(9);
  expect(moves.kept).toBe(4);
  expect((await moves.touchedBy(1, new Set(["80"]))).pairs.map(({ before }) => before?.hash)).toEqual(["v8"]);
  moves.forget(Number.POSITIVE_INFINITY);
  expect(moves.kept).toBe(0);
});

test("a set that comes again is another change's each time", async () => {
  const moves = createMoves(() => true);
  const [first, second, third] = [setOf("v0"), setOf("v1"), setOf("v2")];
  const who = {};
  const way = [first, second, first, third, first, second];
  for (const [i, now] of way.entries()) {
    const before = way[i - 1];
    if (before) moves.moved({ who, proxies: 2, type: types.route, before, now, version: i });
  }
  const touchedBy = async (version: number) => {
    const { pairs } = await moves.touchedBy(version, new Set(["80"]));
    return pairs.map(({ before, after }) => `${before?.hash} ${after?.hash}`);
  };
  const all = await Promise.all([1, 2, 3, 4, 5].map(touchedBy));
  expect(all).toEqual([["v0 v1"], ["v1 v0"], ["v0 v2"], ["v2 v0"], ["v0 v1"]]);
  moves.forget(5);
  expect(await touchedBy(5)).toEqual(["v0 v1"]);
  expect(moves.kept).toBe(1);
});
