import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createTurns } from "./turns.ts";

const turnsOf = (maxWriting: number) =>
  createTurns({ maxWriting, maxWritingMs: 1000, onSlow: () => {}, nowMs: () => performance.now() });

/** Many turns of the event loop: far more slices than there is work for. */
async function settled(): Promise<void> {
  for (let i = 0; i < 50; i++) await nextTurn();
}

test("those without config go first, but the others are not left out", async () => {
  const turns = turnsOf(100);
  const order: string[] = [];
  const note = (name: string) => (): undefined => void order.push(name);
  for (let i = 0; i < 4; i++) turns.take(note("known"), { urgent: false });
  for (let i = 0; i < 20; i++) turns.take(note("new"), { urgent: true });
  await settled();
  expect(order).toHaveLength(24);
  expect(order.slice(0, 7).every((name) => name === "new")).toBe(true);
  expect(order.slice(0, 16).filter((name) => name === "known")).toHaveLength(2);
});

test("no more than so many write at the same time", async () => {
  const turns = turnsOf(2);
  const open: (() => void)[] = [];
  for (let i = 0; i < 5; i++) turns.take(() => new Promise<void>((resolve) => open.push(resolve)), { urgent: false });
  await settled();
  expect([open.length, turns.waiting]).toEqual([2, 3]);
  open[0]?.();
  await settled();
  expect([open.length, turns.waiting]).toEqual([3, 2]);
});

test("who comes, and reads nothing, does not keep those from their turn who have config", async () => {
  const turns = turnsOf(64);
  let [stuck, told] = [0, 0];
  const stick = (): Promise<void> => {
    stuck++;
    return new Promise(() => {});
  };
  for (let i = 0; i < 1000; i++) turns.take(stick, { urgent: true });
  await settled();
  for (let i = 0; i < 500; i++) turns.take((): undefined => void told++, { urgent: false });
  await settled();
  expect({ stuck, told }).toEqual({ stuck: 56, told: 500 });
});

test("where one writes at a time, that may be one without config", async () => {
  const turns = turnsOf(1);
  const order: string[] = [];
  turns.take((): undefined => void order.push("new"), { urgent: true });
  turns.take((): undefined => void order.push("known"), { urgent: false });
  await settled();
  expect(order).toEqual(["new", "known"]);
});
