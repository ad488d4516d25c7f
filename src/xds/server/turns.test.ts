import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createTurns, type TurnsOptions, type Writing } from "./turns.ts";

const turnsOf = (maxWriting: number, options: Partial<TurnsOptions> = {}) =>
  createTurns({
    ...{ maxWriting, maxWritingMs: 1000, stalledMs: 1e6, onSlow: () => {}, nowMs: () => performance.now() },
    ...options,
  });

const never = new Promise<void>(() => {});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** All that need not wait for a clock. */
const settled = (): Promise<unknown> => pass(0);

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
  const draw = (): Writing => ({ done: new Promise<void>((resolve) => open.push(resolve)), drains: () => 0 });
  for (let i = 0; i < 5; i++) turns.take(draw, { urgent: false });
  await settled();
  expect([open.length, turns.waiting]).toEqual([2, 3]);
  open[0]?.();
  await settled();
  expect([open.length, turns.waiting]).toEqual([3, 2]);
});

test("who comes, and reads nothing, does not keep those from their turn who have config", async () => {
  const turns = turnsOf(64);
  let [stuck, told] = [0, 0];
  const stick = (): Writing => {
    stuck++;
    return { done: never, drains: () => 0 };
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

test("who waits is let in where a reader takes nothing; the write that goes on is told of when it is drawn out", async () => {
  let slow = 0;
  const turns = turnsOf(2, { stalledMs: 3, maxWritingMs: 60, onSlow: () => void slow++ });
  let begun = 0;
  const stick = (): Writing => {
    begun++;
    return { done: never, drains: () => 0 };
  };
  for (let i = 0; i < 20; i++) turns.take(stick, { urgent: false });
  await pass(50);
  expect({ begun, waiting: turns.waiting, slow }).toEqual({ begun: 20, waiting: 0, slow: 0 });
  await pass(500);
  expect(slow).toBe(20);
});

test("a reader that takes what it is written keeps its turn, however many wait", async () => {
  const turns = turnsOf(1, { stalledMs: 30, maxWritingMs: 1e6 });
  let [drains, others] = [0, 0];
  const reads = Promise.withResolvers<void>();
  turns.take(() => ({ done: reads.promise, drains: () => drains }), { urgent: false });
  turns.take((): undefined => void others++, { urgent: false });
  // It is found still, but never as often as it would have to be.
  for (; drains < 40; drains++) await pass(25);
  expect(others).toBe(0);
  reads.resolve();
  await settled();
  expect(others).toBe(1);
});

test("where many share a slow network, those keep their turns that are still for some looks, and who is still for ever does not", async () => {
  const turns = turnsOf(21, { stalledMs: 3, maxWritingMs: 1e6 });
  let looks = 0;
  // Each moves in every fifth look.
  const reads = (i: number) => (): Writing => {
    let own = i;
    return { done: never, drains: () => Math.floor(own++ / 5) };
  };
  for (let i = 0; i < 20; i++) turns.take(reads(i), { urgent: false });
  turns.take(() => ({ done: never, drains: () => Math.min(0, looks++) }), { urgent: false });
  let others = 0;
  for (let i = 0; i < 5; i++)
    turns.take(
      () => {
        others++;
        return reads(i)();
      },
      { urgent: false },
    );
  await pass(100);
  // It was asked in each look, until it was let go of.
  expect(looks).toBeGreaterThan(20);
  expect(looks).toBeLessThan(100);
  await pass(10_000);
  expect([others, turns.waiting]).toEqual([1, 4]);
});

test("readers that take all at once keep nobody in his turn who takes nothing", async () => {
  const turns = turnsOf(8, { stalledMs: 30, maxWritingMs: 1e6 });
  const asked: number[] = [];
  const stick = (i: number) => (): Writing => ({
    done: never,
    drains: () => {
      asked[i] = (asked[i] ?? 0) + 1;
      return 0;
    },
  });
  let told = 0;
  const read = async (): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    told++;
  };
  for (let i = 0; i < 64; i++) {
    turns.take(stick(i), { urgent: false });
    for (let j = 0; j < 3; j++) turns.take(() => ({ done: read(), drains: () => 0 }), { urgent: false });
  }
  await pass(20_000);
  expect(told).toBe(64 * 3);
  // When it begins, and in three looks.
  expect(Math.max(...asked)).toBe(4);
});
