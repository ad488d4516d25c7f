import { describe, expect, test } from "vitest";
import { objectLimits, parseJson, parseYaml } from "./parse.ts";

describe("parse", () => {
  test("YAML scalars are read as sigs.k8s.io/yaml reads them", () => {
    expect(parseYaml("a: 0755\nb: yes\nc: 2020-01-01\nd: 1:30\nf: 1e3\ng: 1.5\nh: ~\ni: 'yes'\nj: 0x1f")).toEqual([
      { a: 493, b: true, c: "2020-01-01", d: "1:30", f: 1000, g: 1.5, h: null, i: "yes", j: 31 },
    ]);
  });

  test("several documents, empty ones left out", () => {
    expect(parseYaml("---\na: 1\n---\n---\nb: 2\n")).toEqual([{ a: 1 }, { b: 2 }]);
  });

  test("an alias bomb is refused", () => {
    const bomb = `a: &a [x,x,x,x,x,x,x,x,x,x]\n${Array.from({ length: 20 }, (_, i) => `b${i}: [${"*a,".repeat(10)}1]`).join("\n")}`;
    expect(() => parseYaml(bomb)).toThrow(/not YAML/);
  });

  test.each([101, 1000, 1_000_000])("nesting of %d is refused", (depth) => {
    expect(() => parseJson("[".repeat(depth) + "]".repeat(depth))).toThrow("nested deeper");
  });

  test("brackets in strings do not count", () => {
    expect(parseJson(JSON.stringify({ a: "[".repeat(500), b: '\\"[' }))).toEqual({ a: "[".repeat(500), b: '\\"[' });
  });

  test("a text over the cap is refused before it is parsed", () => {
    expect(() => parseJson(" ".repeat(objectLimits.maxBytes + 1))).toThrow("at most");
  });

  test("__proto__ stays data", () => {
    const value = parseJson('{"__proto__":{"polluted":1}}');
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    expect(Object.keys(value as object)).toEqual(["__proto__"]);
    const [yaml] = parseYaml("__proto__: {polluted: 1}");
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    expect(Object.getPrototypeOf(yaml)).toBe(Object.prototype);
  });
});
