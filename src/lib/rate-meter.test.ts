import { expect, test } from "vitest";
import { createRateMeter } from "./rate-meter.ts";

test("the growth of each count by second; what is new, or began anew, has none yet", async () => {
  let [nowMs, counts] = [
    0,
    new Map([
      ["a", 10],
      ["b", 50],
    ]),
  ];
  const meter = createRateMeter({
    leastMs: 0,
    monotonicMs: () => nowMs,
    read: () => counts,
  });
  expect((await meter.rates()).perSecond).toEqual(
    new Map([
      ["a", 0],
      ["b", 0],
    ]),
  );
  nowMs = 2_000;
  counts = new Map([
    ["a", 13],
    ["b", 1],
    ["new", 99],
  ]);
  expect(await meter.rates()).toEqual({
    windowMs: 2_000,
    perSecond: new Map([
      ["a", 1.5],
      ["b", 0],
    ]),
  });
  // So long ago that it says nothing of now.
  nowMs = 200_000;
  counts = new Map([["a", 1_000]]);
  expect((await meter.rates()).perSecond).toEqual(new Map([["a", 0]]));
});

test("who asks while it is being measured is told the same", async () => {
  let reads = 0;
  const meter = createRateMeter({
    leastMs: 1,
    monotonicMs: () => performance.now(),
    read: () => new Map([["reads", ++reads]]),
  });
  const [one, other] = await Promise.all([meter.rates(), meter.rates()]);
  expect(one).toBe(other);
  expect(reads).toBe(2);
});
