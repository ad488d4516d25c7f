import { expect, test } from "vitest";
import { wait } from "./backoff.ts";
import { measureLoopDelay } from "./loop-delay.ts";

test("says how long the loop was held up, once", async () => {
  const delay = measureLoopDelay();
  /** Since it was last asked; how long they take is a matter of the machine. */
  const looks = async (count: number): Promise<void> => {
    while (delay.samples < count) await wait(10);
  };
  try {
    expect([...delay.take()]).toEqual([
      [0.5, 0],
      [0.99, 0],
      [1, 0],
    ]);
    // A loop that had nothing to do is looked at every 100 ms: of what holds it up it may miss that much.
    await looks(2);
    const until = performance.now() + 400;
    while (performance.now() < until);
    await looks(3);
    expect(delay.take().get(1)).toBeGreaterThan(0.25);
    expect(delay.samples).toBe(0);
    expect(delay.take().get(1)).toBe(0);
    // A busy one, every 20 ms.
    for (let turn = 0; turn < 30; turn++) {
      const endMs = performance.now() + 30;
      while (performance.now() < endMs);
      await wait(1);
    }
    expect(delay.take().get(0.5)).toBeGreaterThan(0.005);
  } finally {
    delay.stop();
  }
});
