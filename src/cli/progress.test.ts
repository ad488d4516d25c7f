/** Progress: nothing for what is soon done, one redrawn line on a terminal, few lines elsewhere. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createProgress } from "./progress.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function told(errTty: boolean) {
  const lines: string[] = [];
  return { lines, progress: createProgress({ errTty, err: (text) => void lines.push(text) }) };
}

test("what is done within a second is not told", () => {
  const { lines, progress } = told(true);
  progress.say("reading");
  vi.advanceTimersByTime(900);
  progress.end();
  vi.advanceTimersByTime(60_000);
  expect(lines).toEqual([]);
});

test("a step that takes long is told though nothing new is said of it, and its line goes", () => {
  const { lines, progress } = told(true);
  progress.say("reading");
  vi.advanceTimersByTime(1_000);
  for (let i = 1; i <= 50; i++) {
    progress.say(`asked ${i} of 50\u001b[2J`);
    vi.advanceTimersByTime(10);
  }
  progress.end();
  expect(lines[0]).toBe("\r\u001b[Kreading");
  expect(lines.at(-1)).toBe("\r\u001b[K");
  expect(lines.length).toBeLessThan(12);
  expect(lines.filter((line) => line.includes("[2J"))).toEqual(lines.filter((line) => line.includes("\\u001b[2J")));
});

test("off a terminal lines are few", () => {
  const { lines, progress } = told(false);
  for (let i = 1; i <= 300; i++) {
    progress.say(`asked ${i} of 300`);
    vi.advanceTimersByTime(100);
  }
  progress.end();
  expect(lines).toEqual(["asked 10 of 300\n", "asked 110 of 300\n", "asked 210 of 300\n"]);
});
