import { describe, expect, test } from "vitest";
import { durationParts, parseDuration, parseDurationMs } from "./duration.ts";

describe("durations", () => {
  test.each([
    ["5s", 5000],
    ["1.5s", 1500],
    ["1h2m3s", 3_723_000],
    ["100ms", 100],
    ["0", 0],
    [".5s", 500],
    ["-1s", -1000],
  ])("%s is %d ms", (text, ms) => expect(parseDurationMs(text)).toBe(ms));

  test.each(["", "5", "s", "5 s", "1e3s", "5d", "1s;rm", `${"1h".repeat(40)}`])("%j is none", (text) =>
    expect(parseDuration(text)).toBeUndefined(),
  );

  test("parts keep every nanosecond", () => {
    expect(durationParts(parseDuration("9223372035.000000001s") ?? 0n)).toEqual({ seconds: 9223372035n, nanos: 1 });
  });
});
