import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createSlices } from "./slices.ts";

/** A clock that only work moves on: a millisecond for each step. */
function start() {
  let ms = 0;
  const slices = createSlices({ sliceMs: 8, nowMs: () => ms });
  const ended: string[] = [];
  function* work(name: string, steps: number): Generator<void> {
    for (let i = 1; i < steps; i++) {
      ms++;
      yield;
    }
    ms++;
    ended.push(name);
  }
  return { slices, ended, work, spentMs: () => ms };
}

test("what is short is done at once", async () => {
  const { slices, work } = start();
  expect(slices.run(work("a", 5))).toBeUndefined();
  await nextTurn();
  expect(slices.run(work("b", 5))).toBeUndefined();
});

test("however many come at once, a turn takes no more than one slice, and who came first is done first", async () => {
  const { slices, ended, work, spentMs } = start();
  const names = Array.from({ length: 40 }, (_, i) => `w${i}`);
  const all = names.map((name) => slices.run(work(name, 10)));
  expect(spentMs()).toBeLessThanOrEqual(8);
  for (let lastMs = spentMs(); ended.length < 40; lastMs = spentMs()) {
    await nextTurn();
    expect(spentMs() - lastMs).toBeLessThanOrEqual(8);
    expect(spentMs()).toBeGreaterThan(lastMs);
  }
  await Promise.all(all);
  expect(ended).toEqual(names);
});

test("work that is done outside rests when the slice is over", async () => {
  const { slices, work } = start();
  const worked = (): void => void [...work("outside", 3)];
  for (let turns = 0; turns < 3; turns++) {
    for (let i = 0; i < 3; i++) {
      expect(slices.rest()).toBeUndefined();
      worked();
    }
    await slices.rest();
  }
  expect(slices.rest()).toBeUndefined();
});

test("what fails fails alone", async () => {
  const { slices, ended, work } = start();
  // biome-ignore lint/correctness/useYield: it fails before
  function* broken(): Generator<void> {
    throw new Error("a fault of ours");
  }
  const all = [slices.run(work("a", 20)), slices.run(broken()), slices.run(work("b", 20))];
  const settled = await Promise.allSettled(all);
  expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(ended).toEqual(["a", "b"]);
});
