import { expect, test } from "vitest";
import { createGraph } from "./graph.ts";

test("a memo tells what it made, what was there, what has gone, and what the rest was made from", () => {
  const graph = createGraph();
  const names = graph.source<string>("names");
  const memo = graph.memo("greeting", (key) => `${names.get("greeting") ?? "hello"} ${names.get(key) ?? "nobody"}`);
  expect(memo.get("a")).toBe("hello nobody");
  memo.get("a");
  expect(memo.tally).toEqual({ hits: 1, computed: 1, dropped: 0, lookups: 2 });
  names.set("b", "Bo");
  memo.get("a");
  names.set("a", "Al");
  memo.get("a");
  memo.get("b");
  expect(memo.tally).toEqual({ hits: 2, computed: 3, dropped: 0, lookups: 4 });
  memo.drop("a");
  memo.drop("a");
  expect(memo.tally).toEqual({ hits: 2, computed: 3, dropped: 1, lookups: 2 });
});

test("what could not be made is no hit, and has looked something up all the same", () => {
  const graph = createGraph();
  const names = graph.source<string>("names");
  const memo = graph.memo("name", (key) => {
    const name = names.get(key);
    if (name === undefined) throw new Error("nobody");
    return name;
  });
  expect(() => memo.get("a")).toThrow("nobody");
  expect(() => memo.get("a")).toThrow("nobody");
  expect(memo.tally).toEqual({ hits: 0, computed: 0, dropped: 0, lookups: 1 });
  memo.drop("a");
  expect(memo.tally.lookups).toBe(0);
});

test("members are counted one by one, and the list as one more", () => {
  const graph = createGraph();
  const names = graph.source<string>("names");
  const memo = graph.members<string, string>("all", {
    list: () => names.keys(),
    each: (_key, member) => names.get(member),
    whole: (members) => [...members.values()].join(),
  });
  for (const name of ["a", "b", "c"]) names.set(name, name.toUpperCase());
  expect(memo.get("")).toBe("A,B,C");
  memo.get("");
  expect(memo.tally).toEqual({ hits: 1, computed: 4, dropped: 0, lookups: 4 });
  names.delete("b");
  expect(memo.get("")).toBe("A,C");
  expect(memo.tally).toMatchObject({ hits: 1, dropped: 1, lookups: memo.size });
  memo.drop("");
  expect(memo.tally).toMatchObject({ dropped: 4, lookups: 0 });
});
