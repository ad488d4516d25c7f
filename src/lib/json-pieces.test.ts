import { expect, test } from "vitest";
import { inTurns, jsonPieces, lazyFields, lazyList } from "./json-pieces.ts";

const text = (value: unknown): string => [...jsonPieces(value)].join("");

test("what is made in pieces is what would be written at once", () => {
  const plain = {
    empty: [],
    none: {},
    list: [{ a: 1, b: ["x\ny", null] }, "two\n", 3],
    fields: { '"quoted"': { deep: [[], {}, [1]] }, inner: [1, 2] },
  };
  const lazy = lazyFields([
    ["empty", lazyList([])],
    ["none", lazyFields([])],
    ["list", lazyList(plain.list)],
    ["left out", undefined],
    ["list", "of the same name"],
    ["fields", lazyFields(Object.entries({ ...plain.fields, inner: lazyList([1, 2]) }))],
  ]);
  expect(text(lazy)).toBe(JSON.stringify(plain, null, 2));
  expect(text([undefined])).toBe(JSON.stringify([undefined], null, 2));
  expect(text(undefined)).toBe("null");
});

test("members are made one after the other, with turns for others between", async () => {
  function* members(): Generator<string> {
    for (let made = 0; made < 40; made++) yield "x".repeat(64 * 1024);
  }
  let whole = "";
  let [others, ended] = [0, false];
  const count = (): void => {
    others++;
    if (!ended) setImmediate(count);
  };
  setImmediate(count);
  try {
    for await (const part of inTurns(jsonPieces(lazyList(members())))) whole += part;
  } finally {
    ended = true;
  }
  expect(JSON.parse(whole)).toHaveLength(40);
  expect(others).toBeGreaterThan(5);
});
