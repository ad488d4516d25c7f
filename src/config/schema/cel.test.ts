import { describe, expect, test } from "vitest";
import { type CelRules, loadCel } from "./cel.ts";
import { celValue } from "./cel-value.ts";

const list = (length: number) => ({ l: celValue(Array.from({ length }, (_, i) => i)) });
const nested = "l.all(a, l.all(b, l.all(c, a + b + c >= 0)))";

test("loops within loops are as good as any, within bounds", async () => {
  const cel = await loadCel();
  expect(cel.evaluate(nested, list(20))).toEqual({ value: true });
  expect(cel.evaluate("l.map(a, a * 2).filter(b, b > 10).exists_one(c, c == 12)", list(20))).toEqual({ value: true });
  expect(cel.evaluate("{'a': 1, 'b': 2}.exists(k, k == 'b')", {})).toEqual({ value: true });
});

test.each([nested, "l.exists(a, l.exists(b, l.exists(c, a + b + c < 0)))", "l.map(a, l.map(b, l.filter(c, c > a)))"])(
  "%s over a long list ends in an error after as many entries as one object may have looked at",
  async (rule) => {
    const cel = (await loadCel()).forOne();
    expect(cel.evaluate(rule, list(3000))).toEqual({ error: expect.stringContaining("cost exceeds limit") });
    // Another rule of the same object has nothing left, one of another object has.
    expect(cel.evaluate("l.all(a, a >= 0)", list(3000))).toHaveProperty("error");
    expect(cel.forOne().evaluate("l.all(a, a >= 0)", list(3000))).toEqual({ value: true });
  },
);

describe("texts and patterns", () => {
  const bound = (l: readonly unknown[], t = "") => ({ l: celValue(l), t });
  const patterns = Array.from({ length: 400 }, (_, i) => `${i}${"(a|b|c)*x".repeat(100)}`);
  const names = Array.from({ length: 300 }, (_, i) => `a${i}`);

  test.each<readonly [string, Parameters<CelRules["evaluate"]>[1]]>([
    ["t.split('').all(c, t.contains(c))", bound([], "ab".repeat(5_000))],
    ["t.replace('a', 'bbbbbbbbbb').size() > 0", bound([], "a".repeat(300_000))],
    ["l.all(p, 'x'.matches(p) || true)", bound(patterns)],
    ["t.matches('(.?){900}[bc]$')", bound([], "a".repeat(100_000))],
    ["l.all(a, a in l)", bound(names)],
    ["l.all(a, l == l)", bound(names)],
    ["l.map(a, l + l).size() > 0", bound(names)],
  ])("%s is refused where it would go over too much", async (rule, bindings) => {
    const cel = (await loadCel()).forOne();
    expect(cel.evaluate(rule, bindings)).toEqual({ error: expect.stringContaining("cost exceeds limit") });
    expect(cel.isSpent()).toBe(true);
  });

  test.each([
    ["'banana'.replace('an', 'x')", "bxxa"],
    ["'banana'.replace('a', 'x', 2)", "bxnxna"],
    ["'banana'.replace('a', 'x', 0)", "banana"],
    ["'banana'.replace('a', 'x', -1)", "bxnxnx"],
    ["'a1'.matches('^[a-z][0-9]$')", true],
    ["matches('a1', '^b')", false],
  ])("%s is %j", async (rule, value) => {
    expect((await loadCel()).evaluate(rule, {})).toEqual({ value });
  });

  test("an object has only so many rules to meet, and is told once", async () => {
    const cel = (await loadCel()).forOne();
    let said = 0;
    for (let i = 0; i < 50_000 && !cel.isSpent(); i++) if ("error" in cel.evaluate("true", {})) said++;
    expect([cel.isSpent(), said]).toEqual([true, 1]);
  });

  test("a very long rule is not read", async () => {
    const cel = await loadCel();
    const long = `${"1 + ".repeat(2_500)}1 > 0`;
    expect(cel.syntaxError(long)).toContain("at most 10000 characters");
    expect(cel.evaluate(long, {})).toHaveProperty("error");
    expect(cel.syntaxError(`${"1 + ".repeat(1_000)}1 > 0`)).toBeUndefined();
  });
});

describe("brackets inside each other", () => {
  const deep = (n: number, inside: string): string => `${"(".repeat(n)}${inside}${")".repeat(n)}`;

  test.each([
    ["more than may be", deep(101, "true")],
    ["those that are never closed", `sel${"(".repeat(1000)}f)`],
    ["lists and maps", `${"[{1: (".repeat(40)}1`],
    ["closed in texts only", `(')' == ${"(')' == ".repeat(120)}')'`],
    ["closed in a raw text that ends with a backslash", String.raw`(r"\" + ")" + `.repeat(120)],
    ["closed in a text of three quotes", `("""a")""" == ${'("""a")""" == '.repeat(120)}""`],
    ["closed in comments only", "( // )\n".repeat(120)],
  ])("are too many: %s", async (_, rule) => {
    const cel = await loadCel();
    expect(cel.syntaxError(rule)).toContain("at most 100 brackets inside each other");
    expect(cel.evaluate(rule, {})).toHaveProperty("error");
  });

  test.each([
    ["as many as may be", deep(100, "true")],
    ["many beside each other", `${"(true) && ".repeat(300)}true`],
    ["in texts and comments", `// ${"{".repeat(300)}\n'${"(".repeat(300)}' != r"${"[".repeat(200)}"`],
  ])("are fine: %s", async (_, rule) => {
    expect((await loadCel()).evaluate(rule, {})).toEqual({ value: true });
  });
});
