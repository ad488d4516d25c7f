import { expect, test } from "vitest";
import { loadCel } from "./cel.ts";
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
