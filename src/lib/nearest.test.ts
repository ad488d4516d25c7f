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
