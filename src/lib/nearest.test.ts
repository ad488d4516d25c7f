import { expect, test } from "vitest";
import { nearest } from "./index.ts";

const words = ["logLevel", "logging", "proxyCPU", "proxyCPULimit"];

test.each([
  ["logLvel", "logLevel"],
  ["lgoLevel", "logLevel"],
  ["proxycpu", "proxyCPU"],
  ["proxyCPULimits", "proxyCPULimit"],
  ["somethingElse", undefined],
  ["", undefined],
])("%s is near to %s", (word, near) => {
  expect(nearest(word, words)).toBe(near);
});

test("a very long word is near to none, and is not compared", () => {
  const many = Array.from({ length: 100 }, (_, i) => `${"word".repeat(20)}${i}`);
  expect(nearest("x".repeat(1_000_000), many)).toBeUndefined();
});
