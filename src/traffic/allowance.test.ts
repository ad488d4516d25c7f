import { expect, test } from "vitest";
import { createAllowance } from "./allowance.ts";

/** FNV-1a, which needs no key: whoever knows the hash can choose two last characters so that any name has any other's. */
const prime = 0x01000193;
const step = (value: number, code: number): number => Math.imul(value ^ code, prime);
const fnv = (text: string): number => [...text].reduce((value, one) => step(value, one.charCodeAt(0)), 0x811c9dc5);

function withHashOf(target: string, prefix: string): string | undefined {
  const inverse = 0x359c449b;
  const wanted = Math.imul(fnv(target), inverse);
  const start = fnv(prefix);
  for (let code = 0; code < 0x10000; code++) {
    const last = step(start, code) ^ wanted;
    if (last >>> 16 === 0) return `${prefix}${String.fromCharCode(code, last)}`;
  }
  return undefined;
}

test("names that were looked for to be taken for a known one are beyond the bound as any other", () => {
  const allowance = createAllowance({ burst: 1, perSecond: 1 }, () => 0);
  const names = Array.from({ length: 256 }, (_, i) => `workload-${i}`);
  expect(names.every((name) => allowance.tellsApart(name))).toBe(true);
  const found = Array.from({ length: 300 }, (_, i) => withHashOf("workload-0", `forged-${i}-`)).filter(
    (name) => name !== undefined,
  );
  expect(found.length).toBeGreaterThan(100);
  expect(new Set(found.map((name) => fnv(name)))).toEqual(new Set([fnv("workload-0")]));
  // One of some million may be taken for another by chance.
  expect(found.filter((name) => allowance.tellsApart(name)).length).toBeLessThan(3);
  expect(names.every((name) => allowance.tellsApart(name))).toBe(true);
});
