/** YAML that is indented less than the specification asks for, as kubectl reads it. */
import { describe, expect, test } from "vitest";
import { parseYaml } from "./parse.ts";
import { yamlLines } from "./yaml-lines.ts";

describe("less indented than its block", () => {
  test.each([
    ["a closing brace under its key", "a:\n  b: {\n    c: 1\n  }\n  d: 2\n", { a: { b: { c: 1 }, d: 2 } }],
    ["a closing brace at the left", "a:\n  b: {\n    c: 1\n}\nd: 2\n", { a: { b: { c: 1 } }, d: 2 }],
    ["items at the left", "a:\n  b: [\n1,\n2\n]\nc: 3", { a: { b: [1, 2] }, c: 3 }],
    ["a list in a list", "a:\n  - b: [\n      1\n    ]\n  - c: [2,\n  3]\n", { a: [{ b: [1] }, { c: [2, 3] }] }],
    ["several in a row", "a: [\n1\n]\nb: {\nc: [\n2\n]\n}\n", { a: [1], b: { c: [2] } }],
    ["tabs", "a:\n  b: {\n\tc: 1\n  }\n", { a: { b: { c: 1 } } }],
    ["brackets in quotes", "a:\n  b: [\n  ']', \"}\",\n  it's\n  ]\n", { a: { b: ["]", "}", "it's"] } }],
    ["a comment with a bracket", "a:\n  b: [ # ]\n  1, # {\n  ]\n", { a: { b: [1] } }],
    ["a quoted text", 'a:\n  b: "x\n y"\n  c: 1\n', { a: { b: "x y", c: 1 } }],
    ["a quoted key", 'a:\n  "b c": [\n  1\n  ]\n', { a: { "b c": [1] } }],
    ["an anchor", "a:\n  b: &x {\n  c: 1\n  }\n  d: *x\n", { a: { b: { c: 1 }, d: { c: 1 } } }],
    [
      "a block of text beside it, which stays as it is",
      "a:\n  t: |\n    [\n    x: {\n  b: [\n  1\n  ]\n",
      { a: { t: "[\nx: {\n", b: [1] } },
    ],
    ["a plain text with a bracket", "a:\n  t: x [ y\n  b: [\n  1\n  ]\n", { a: { t: "x [ y", b: [1] } }],
    ["an address with a colon", "a:\n  u: http://x/{y\n  b: [\n  1\n  ]\n", { a: { u: "http://x/{y", b: [1] } }],
  ])("%s", (_what, text, value) => {
    expect(parseYaml(text)).toEqual([value]);
  });

  test("a text that would become very much longer is refused", () => {
    const text = `a:\n${" ".repeat(20_000)}b: [\n${"1,\n".repeat(20_000)}1]\n`;
    expect(() => parseYaml(text)).toThrow("deficient indentation");
  });

  test("lines are counted as they were written", () => {
    expect(yamlLines("a:\n  b: {\n  c: 1\n  }\nd: 2\n")[0]?.get("d")).toBe(5);
  });

  test("what is wrong otherwise stays wrong", () => {
    expect(() => parseYaml("a:\n  b: {\n  c: 1\n")).toThrow("not YAML");
    expect(() => parseYaml("a:\n  b: [\n  1\n  }\n")).toThrow("not YAML");
    expect(() => parseYaml("a: 1\n b: 2\n")).toThrow("not YAML");
  });
});
