import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createDebounce } from "./debounce.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function start(quietMs: number, maxMs: number) {
  const waited: number[] = [];
  const debounce = createDebounce({ quietMs, maxMs, run: (waitedMs) => waited.push(Math.round(waitedMs)) });
  return { waited, ...debounce };
}

test("runs once when it has been quiet, however many signals came", () => {
  const { waited, signal } = start(100, 10_000);
  for (let i = 0; i < 5; i++) {
    for (let n = 0; n < 500; n++) signal();
    vi.advanceTimersByTime(60);
  }
  expect(waited).toEqual([]);
  vi.advanceTimersByTime(40);
  expect(waited).toEqual([340]);
  signal();
  vi.advanceTimersByTime(100);
  expect(waited).toEqual([340, 100]);
});

test("runs at the latest after the maximum", () => {
  const { waited, signal } = start(100, 250);
  for (let i = 0; i < 6; i++) {
    signal();
    vi.advanceTimersByTime(50);
  }
  expect(waited).toEqual([250]);
});

test("a signal while it runs is one more run; what is stopped does not run", () => {
  const runs: number[] = [];
  const debounce = createDebounce({
    quietMs: 10,
    maxMs: 100,
    run() {
      if (runs.push(1) === 1) debounce.signal();
    },
  });
  debounce.signal();
  vi.advanceTimersByTime(10);
  vi.advanceTimersByTime(10);
  expect(runs).toHaveLength(2);
  debounce.signal();
  debounce.stop();
  vi.advanceTimersByTime(1000);
  expect(runs).toHaveLength(2);
});
