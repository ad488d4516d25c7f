import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createFailedClasses } from "./failed-classes.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function start() {
  const retries: (readonly string[])[] = [];
  const failed = createFailedClasses<string>({ random: () => 1, onRetry: (all) => retries.push([...all]) });
  return { failed, retries };
}

test("a class that fails again has what it had when it failed first", () => {
  const { failed } = start();
  expect(failed.stuck("a")).toEqual({});
  failed.add("a", 4);
  failed.add("a", 5);
  expect(failed.stuck("a")).toEqual({ stuckAt: 4 });
  failed.delete("a");
  failed.add("a", 6);
  expect(failed.stuck("a")).toEqual({ stuckAt: 6 });
});

test("the counter moves with each class that fails or is made, and with nothing else", () => {
  const { failed } = start();
  const moved = (act: () => void): boolean => {
    const { moves } = failed;
    act();
    return failed.moves !== moves;
  };
  expect(moved(() => failed.delete("a"))).toBe(false);
  expect(moved(() => failed.add("a", 4))).toBe(true);
  expect(moved(() => failed.add("a", 5))).toBe(false);
  expect(moved(() => failed.tried())).toBe(false);
  // As many as before, but others.
  const swap = (): void => {
    failed.delete("a");
    failed.add("b", 4);
  };
  expect(moved(swap)).toBe(true);
});

test("all that failed is tried again once, ever more rarely until nothing fails", async () => {
  const { failed, retries } = start();
  failed.add("a", 4);
  failed.add("b", 4);
  await vi.advanceTimersByTimeAsync(999);
  expect(retries).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(retries.splice(0)).toEqual([["a", "b"]]);
  failed.delete("a");
  for (const afterMs of [2000, 4000]) {
    failed.add("b", 4);
    failed.tried();
    await vi.advanceTimersByTimeAsync(afterMs - 1);
    expect(retries).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(retries.splice(0)).toEqual([["b"]]);
  }
  failed.delete("b");
  failed.tried();
  failed.add("c", 5);
  await vi.advanceTimersByTimeAsync(1000);
  expect(retries).toEqual([["c"]]);
});

test("nothing is tried again once it is closed", async () => {
  const { failed, retries } = start();
  failed.add("a", 4);
  failed.close();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(retries).toEqual([]);
});
