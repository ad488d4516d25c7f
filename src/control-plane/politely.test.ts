import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createPolite } from "./politely.ts";

/** A clock that only work moves on: a millisecond for each step. */
function start() {
  let ms = 0;
  function* work(steps: number): Generator<undefined, number> {
    for (let i = 1; i < steps; i++) {
      ms++;
      yield;
    }
    return ++ms;
  }
  return { polite: createPolite(() => ms), work, spentMs: () => ms };
}

test("what is done one after the other takes no more of a turn than one", async () => {
  const { polite, work, spentMs } = start();
  const outcomes: number[] = [];
  const all = (async () => {
    for (let i = 0; i < 40; i++) outcomes.push(await polite(work(1)));
  })();
  for (let lastMs = spentMs(); outcomes.length < 40; lastMs = spentMs()) {
    await nextTurn();
    // The end of one slice and the next one.
    expect(spentMs() - lastMs).toBeLessThanOrEqual(8);
  }
  await all;
  expect(outcomes).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
});

test.each([1, 20])("what fails after %d steps is told", async (steps) => {
  const { polite, work } = start();
  function* failing(): Generator<undefined, never> {
    yield* work(steps);
    throw new Error("no verdict");
  }
  await expect(polite(failing())).rejects.toThrow("no verdict");
  await expect(polite(work(1))).resolves.toBeGreaterThan(0);
});
