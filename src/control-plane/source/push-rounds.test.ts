import { expect, test } from "vitest";
import { createPushRounds } from "./push-rounds.ts";

function start() {
  let version = 1;
  const begun: number[] = [];
  const open: (() => void)[] = [];
  const due = new Set<string>();
  const rounds = createPushRounds({
    version: () => version,
    isDue: () => due.size > 0,
    round() {
      begun.push(version);
      due.clear();
      return new Promise((resolve) => open.push(resolve));
    },
  });
  /** Ends the round that runs, and lets what follows from it happen. */
  const end = async (): Promise<void> => {
    open.shift()?.();
    for (let i = 0; i < 5; i++) await Promise.resolve();
  };
  return { rounds, begun, due, end, change: () => ++version };
}

test("rounds that are asked for while one runs are one more", async () => {
  const { rounds, begun, end, change } = start();
  const all = rounds.run();
  for (let i = 0; i < 5; i++) {
    change();
    void rounds.run();
  }
  expect(begun).toEqual([1]);
  await end();
  expect([begun, rounds.made, rounds.isBusy]).toEqual([[1, 6], 1, true]);
  await end();
  await all;
  expect([begun, rounds.made, rounds.isBusy]).toEqual([[1, 6], 6, false]);
});

test("what goes on beside holds up no round, but is part of what was made", async () => {
  const { rounds, begun, end, change } = start();
  const making = Promise.withResolvers<void>();
  void rounds.run();
  rounds.beside(making.promise);
  await end();
  change();
  void rounds.run();
  await end();
  expect([begun, rounds.made, rounds.isBusy]).toEqual([[1, 2], 0, true]);
  making.resolve();
  await end();
  expect([rounds.made, rounds.isBusy]).toEqual([2, false]);
});

test("settle waits until nothing is due and nothing goes on", async () => {
  const { rounds, begun, due, end } = start();
  const making = Promise.withResolvers<void>();
  let isSettled = false;
  const settled = rounds.settle().then(() => {
    isSettled = true;
  });
  rounds.beside(making.promise);
  await end();
  due.add("more");
  making.resolve();
  await end();
  expect([begun.length, isSettled]).toEqual([2, false]);
  await end();
  await settled;
});
