import { expect, test } from "vitest";
import { createRateLimit } from "./rate-limit.ts";

test("C14: of 5,000 requests within a second as many are served as the limits allow, for one caller and for all", () => {
  let now = 0;
  const limit = createRateLimit({
    perHolder: { burst: 100, perSecond: 10 },
    perAccount: { burst: 1000, perSecond: 100 },
    total: { burst: 2000, perSecond: 1000 },
    monotonicMs: () => now,
  });
  const served = (keys: (i: number) => string): number =>
    Array.from({ length: 5000 }, (_, i) => limit.take({ account: keys(i), holder: "pod" })).filter((taken) => taken)
      .length;
  expect(served(() => "greedy")).toBe(100);
  expect(served((i) => `one of many ${i}`)).toBe(1900);
  now = 1000;
  // A caller who was refused is not forgotten, and the others are not held back by him.
  expect(served(() => "greedy")).toBe(10);
  expect(served((i) => `another ${i}`)).toBe(990);
});
