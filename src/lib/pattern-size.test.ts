import { expect, test } from "vitest";
import { almostPatterns } from "../../test/bad-input/patterns.ts";
import { measurePattern } from "./pattern-size.ts";
import { compilePattern, patternSize } from "./regex.ts";

test.each([
  ["abc", 3, 3],
  ["a{1000}", 1000, 1000],
  ["(a{100}){10}", 1000, 1000],
  ["\\pL{1000}", 1000, 30_000],
  ["[\\p{Greek}a]{2}", 2, 60],
  ["abc|abd", 3, 6],
  ["(?:ab|c){3}", 6, 9],
  ["a{2,5}b{0}", 5, 5],
  ["^a$", 1, 3],
  ["[a\\]{3}]{4}", 4, 4],
  ["[a{9}", 0, 0],
  ["x{1,y}", 6, 6],
  ["\\Qa{9}(\\Eb{2}", 2, 11],
])("%s", (pattern, least, most) => {
  expect(measurePattern(pattern)).toEqual({ least, most });
});

test("a short text can be a hundred thousand instructions", () => {
  expect(measurePattern("(a{1000})".repeat(100))).toEqual({ least: 100_000, most: 100_000 });
});

test("no pattern is smaller than what is said of it", () => {
  for (const pattern of almostPatterns(11, 3000)) {
    const compiled = compilePattern(pattern);
    if ("error" in compiled) continue;
    expect(measurePattern(pattern).least, pattern).toBeLessThanOrEqual(patternSize(pattern) ?? 0);
  }
});

test("what never ends is measured in one pass", () => {
  for (const piece of ["[", "(?", "\\p{", "{1", "\\Q", "(", "[[:a"]) measurePattern(piece.repeat(60_000));
});
