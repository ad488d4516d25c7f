import { expect, test } from "vitest";
import { heldBytes } from "../../test/held-bytes.ts";
import { createGraph } from "./graph.ts";

function prices() {
  const graph = createGraph();
  const listed = graph.source<readonly string[]>("listed");
  const price = graph.source<number>("price");
  const made: string[] = [];
  const list = graph.members<number, string>("prices", {
    list: (key) => listed.get(key) ?? [],
    each(_key, name) {
      made.push(name);
      const found = price.get(name);
      if (found === -1) throw new Error("no price");
      return found;
    },
    whole: (members) => [...members].map(([name, value]) => `${name}=${value}`).join(),
  });
  graph.change(() => {
    listed.set("shop", ["b", "a", "c"]);
    for (const [name, value] of [
      ["a", 1],
      ["b", 2],
    ] as const)
      price.set(name, value);
  });
  const since = (): string[] => made.splice(0);
  return { graph, listed, price, list, since };
}

test("only members that a change concerns are made again, in the order of the list", () => {
  const { graph, listed, price, list, since } = prices();
  const text = graph.memo("text", () => `of ${list.get("shop")}`);
  expect(text.get("")).toBe("of b=2,a=1");
  expect(since()).toEqual(["b", "a", "c"]);
  price.set("c", 3);
  expect([text.get(""), since()]).toEqual(["of b=2,a=1,c=3", ["c"]]);
  listed.set("shop", ["c", "d", "a"]);
  expect([text.get(""), since()]).toEqual(["of c=3,a=1", ["d"]]);
  price.set("b", 7);
  expect([text.get(""), since(), text.computed]).toEqual(["of c=3,a=1", [], 3]);
});

test("a member that comes out equal tells nobody", () => {
  const { graph, listed, price, list, since } = prices();
  const text = graph.memo("text", () => `of ${list.get("shop")}`);
  text.get("");
  graph.change(() => {
    listed.set("shop", ["b", "a", "c"]);
    price.set("a", 5);
    price.set("a", 1);
  });
  since();
  expect([text.get(""), text.computed]).toEqual(["of b=2,a=1", 1]);
});

test("a member that fails is made again, and who did without is told when it is over", () => {
  const { graph, price, list } = prices();
  const text = graph.memo("text", () => {
    try {
      return list.get("shop");
    } catch {
      return "none";
    }
  });
  expect(text.get("")).toBe("b=2,a=1");
  price.set("a", -1);
  expect(text.get("")).toBe("none");
  price.set("a", 1);
  expect(text.get("")).toBe("b=2,a=1");
});

test("steps make one member each, and go on after a change", () => {
  const { graph, listed, price, list, since } = prices();
  const hold = graph.hold();
  const steps = list.steps("shop");
  const next = (): boolean | undefined => hold.run(() => steps.next().done);
  expect([next(), since()]).toEqual([false, ["b"]]);
  graph.change(() => {
    listed.set("shop", ["b", "d"]);
    price.set("b", 9);
  });
  while (!next());
  expect(since()).toEqual(["b", "d"]);
  expect([list.get("shop"), since(), list.isFresh("shop")]).toEqual(["b=9", [], true]);
  hold.release();
});

test("what a large member reads is made before it, in steps of its own", () => {
  const graph = createGraph();
  const sizes = graph.source<number>("sizes");
  sizes.set("small", 1);
  sizes.set("large", 3);
  const pieces = graph.memo("pieces", (key) => Number(key.split("/")[1]));
  const piecesOf = (name: string): string[] =>
    Array.from({ length: sizes.get(name) ?? 0 }, (_, i) => `${name}/${i + 1}`);
  const sum = graph.members<number, number>("sums", {
    list: () => ["small", "large"],
    each: (_key, name) => piecesOf(name).reduce((all, piece) => all + pieces.get(piece), 0),
    *prepare(_key, name) {
      for (const piece of piecesOf(name)) {
        pieces.get(piece);
        yield;
      }
    },
    whole: (members) => members.values().reduce((all, one) => all + one, 0),
  });
  const hold = graph.hold();
  const run = (): readonly number[] => {
    const steps = sum.steps("");
    const made: number[] = [];
    for (let done: boolean | undefined; !done; ) {
      const before = pieces.computed;
      done = hold.run(() => steps.next().done);
      made.push(pieces.computed - before);
    }
    return made;
  };
  expect(Math.max(...run())).toBe(1);
  expect([sum.get(""), pieces.computed]).toEqual([7, 4]);
  // Only the member that has changed is prepared again.
  sizes.set("large", 4);
  expect(run().filter((made) => made > 0)).toEqual([1]);
  expect(sum.get("")).toBe(11);
  hold.release();
});

test("what nobody reads any longer goes with all its members, and with its causes", () => {
  const { graph, list } = prices();
  const wanted = graph.source<boolean>("wanted");
  wanted.set("", true);
  const text = graph.memo("text", () => (wanted.get("") ? list.get("shop") : ""), { onInvalidate() {} });
  const empty = graph.entries;
  text.get("");
  expect(text.causes("").map(({ object }) => object)).toEqual(["wanted/", "listed/shop", "price/b", "price/a"]);
  expect(graph.entries).toBeGreaterThan(empty + 4);
  wanted.set("", false);
  text.get("");
  graph.sweep();
  expect([list.size, graph.entries]).toEqual([0, empty + 2]);
});

test("keys are kept in order as members come, move and go", () => {
  const graph = createGraph();
  const ages = graph.source<number>("ages");
  const order = graph.ordered(ages, { place: (age) => (age < 0 ? undefined : age), compare: (a, b) => a - b });
  const first = graph.memo("first", () => order.keys()[0] ?? "nobody");
  expect(first.get("")).toBe("nobody");
  const set = (key: string, age: number) => ages.set(key, age);
  graph.change(() => Array.from({ length: 40 }, (_, i) => set(`k${i}`, 100 + (i % 7))));
  const sorted = (): string[] =>
    ages
      .keys()
      .filter((key) => (ages.get(key) ?? -1) >= 0)
      .sort((a, b) => (ages.get(a) ?? 0) - (ages.get(b) ?? 0) || (a < b ? -1 : 1));
  expect(order.keys()).toEqual(sorted());
  set("k13", 3);
  expect([order.keys(), first.get("")]).toEqual([sorted(), "k13"]);
  set("k14", 2);
  ages.delete("k13");
  set("k15", -1);
  set("k0", 104);
  expect([order.keys(), first.get("")]).toEqual([sorted(), "k14"]);
});

test("an order that nobody reads keeps nothing of members that have gone", async () => {
  const graph = createGraph();
  const ages = graph.source<number>("ages");
  const order = graph.ordered(ages, { place: (age) => age, compare: (a, b) => a - b });
  const before = await heldBytes();
  for (let i = 0; i < 100_000; i++) {
    ages.set(`somebody with a name ${i}`, i);
    ages.delete(`somebody with a name ${i}`);
  }
  expect((await heldBytes()) - before).toBeLessThan(2_000_000);
  ages.set("stays", 1);
  expect(order.keys()).toEqual(["stays"]);
});
