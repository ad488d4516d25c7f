import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

test("docs/reference/errors.md has every code of lib/error.ts, in its order, with a meaning and something to do", () => {
  const [, union = ""] = /export type ErrorCode =([^;]*);/.exec(read("src/lib/error.ts")) ?? [];
  const codes = [...union.matchAll(/"([a-z-]+)"/g)].map(([, code]) => code);
  const rows = [...read("docs/reference/errors.md").matchAll(/^\| `([a-z-]+)` \| (.+) \| (.+) \|$/gm)];
  expect(codes.length).toBeGreaterThan(10);
  expect(rows.map(([, code]) => code)).toEqual(codes);
  for (const [, code, meaning = "", advice = ""] of rows)
    expect(meaning.length > 20 && advice.length > 20, `${code} is not explained`).toBe(true);
});
