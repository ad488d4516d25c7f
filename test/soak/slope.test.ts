import { expect, test } from "vitest";
import { floorOf, slopeOf } from "./slope.ts";

test("the slope of a line is the line's; of noise around a level about none", () => {
  const line = Array.from({ length: 50 }, (_, i) => ({ seconds: i * 10, value: 7 + 3 * i * 10 }));
  expect(slopeOf(line)).toBeCloseTo(3);
  const level = Array.from({ length: 100 }, (_, i) => ({ seconds: i, value: 5 + (i % 2) }));
  expect(Math.abs(slopeOf(level))).toBeLessThan(0.01);
  expect(slopeOf([])).toBe(0);
});

test("of each window the lowest point is kept", () => {
  const saw = Array.from({ length: 40 }, (_, i) => ({ seconds: i, value: 100 + (i % 10) }));
  expect(floorOf(saw, 10).map(({ value }) => value)).toEqual([100, 100, 100, 100]);
});
