import { expect, test } from "vitest";
import { inKeyOrder } from "./in-key-order.ts";

test("keys are in order at any depth, lists stay as they are", () => {
  const made = inKeyOrder({ b: [{ d: 1, c: 2 }, "z", "y"], a: { y: null, x: {} } });
  expect(JSON.stringify(made)).toBe('{"a":{"x":{},"y":null},"b":[{"c":2,"d":1},"z","y"]}');
});

test("what is in order already is itself", () => {
  const value = { a: [{ b: 1, c: 2 }], d: "x" };
  expect(inKeyOrder(value)).toBe(value);
  const half = { a: { c: 1, b: 2 }, d: { e: 1, f: 2 } };
  expect((inKeyOrder(half) as typeof half).d).toBe(half.d);
});

test("names that objects have by themselves are keys like others", () => {
  const value: unknown = JSON.parse('{"b":1,"__proto__":{"d":1,"c":2}}');
  expect(JSON.stringify(inKeyOrder(value))).toBe('{"__proto__":{"c":2,"d":1},"b":1}');
});
