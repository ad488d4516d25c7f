import { expect, test } from "vitest";
import { wait } from "./backoff.ts";
import { measureLoopDelay } from "./loop-delay.ts";

test("says how long the loop was held up, once", async () => {
  const delay = measureLoopDelay();
  try {
    expect([...delay.take()]).toEqual([
      [0.5, 0],
      [0.99, 0],
      [1, 0],
    ]);
    // It has begun to tick, or nothing would be late.
    await wait(100);
    const until = performance.now() + 300;
    while (performance.now() < until);
    await wait(100);
    expect(delay.take().get(1)).toBeGreaterThan(0.25);
    expect(delay.take().get(1)).toBe(0);
  } finally {
    delay.stop();
  }
});
