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

describe("aliases of YAML", () => {
  /** Each level names the one before it so many times. */
  const bomb = (levels: number, times: number): string =>
    [
      `l0: &l0 [${"x,".repeat(times)}x]`,
      ...Array.from({ length: levels }, (_, i) => `l${i + 1}: &l${i + 1} [${`*l${i},`.repeat(times)}1]`),
    ].join("\n");

  test.each([
    ["90 aliases in 9 levels", bomb(9, 10)],
    ["six levels", bomb(6, 9)],
    ["few levels, many times", bomb(2, 1000)],
    ["one long text, often", `a: &a ${"x".repeat(100_000)}\nb: [*a, *a, *a]`],
    ["merge keys", `a: &a {${Array.from({ length: 30_000 }, (_, i) => `k${i}: 1`)}}\nb: {<<: *a}\nc: {<<: *a}`],
  ])("%s are refused before anything is made of them", (_what, text) => {
    const before = process.memoryUsage().heapUsed;
    expect(() => parseYaml(text)).toThrow("its aliases stand for more than");
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(256 * 1024 * 1024);
  });

  test("levels count as they are written out", () => {
    const deep = (n: number): string => `${"[".repeat(n)}x${"]".repeat(n)}`;
    expect(() => parseYaml(`a: &a ${deep(60)}\nb: ${"[".repeat(60)}*a${"]".repeat(60)}`)).toThrow("nested deeper");
    expect(() => parseYaml(`a: &a ${deep(60)}\nb: ${"[".repeat(20)}*a${"]".repeat(20)}`)).not.toThrow();
  });

  test.each(["a: &a [*a]", "a: &a {b: *a}", "a: &a [[[*a]]]", "a: *b", "a: &a [1]\n---\nb: *a"])(
    "%s names itself or nothing",
    (text) => {
      expect(() => parseYaml(text)).toThrow("not YAML");
    },
  );

  test("what people write is read", () => {
    const labels = "labels: &labels {app: web, tier: front}\n";
    expect(parseYaml(`${labels}selector: *labels\nmore: {<<: *labels, tier: back}`)).toEqual([
      {
        labels: { app: "web", tier: "front" },
        selector: { app: "web", tier: "front" },
        more: { app: "web", tier: "back" },
      },
    ]);
    const many = `${labels}list:\n${"- *labels\n".repeat(500)}`;
    expect((parseYaml(many)[0] as { list: unknown[] }).list).toHaveLength(500);
    // A name may be given anew.
    expect(parseYaml("a: &x 1\nb: *x\nc: &x 2\nd: *x")).toEqual([{ a: 1, b: 1, c: 2, d: 2 }]);
  });
});
