import { expect, test } from "vitest";
import { parseYaml } from "./parse.ts";

function read(text: string): { readonly value: unknown; readonly repeated: readonly string[] } {
  const repeated: string[] = [];
  const [value] = parseYaml(text, undefined, (key, line) => repeated.push(`${line} ${key}`));
  return { value, repeated };
}

test.each([
  ["a: 1\nb: {a: 2}\nc: [{a: 1}, {a: 2}]", []],
  ["a: 1\nb: 2\na:\n  3", ["4 a"]],
  ["x:\n- {k: 1, 'k': 2}\n- y: [k, k]\nx: 1", ["2 k", "4 x"]],
  ["base: &b {k: 1}\none: {<<: *b, k: 2}", []],
  ["? [1]\n: 2\na: 1", []],
])("%j", (text, repeated) => {
  expect(read(text).repeated).toEqual(repeated);
});

test("the last one counts, and where nobody is told none does", () => {
  expect(read("a: 1\na: 2").value).toEqual({ a: 2 });
  expect(() => parseYaml("a: 1\na: 2")).toThrow("duplicated mapping key");
});
