import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLive } from "./live.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function reader(isBehind: () => boolean) {
  const frames: string[] = [];
  let [close, isEnded] = [(): void => {}, false];
  const stream = {
    ...{ isBehind, write: (text: string) => void frames.push(text) },
    onClose(act: () => void) {
      close = act;
    },
    end() {
      isEnded = true;
    },
  };
  return { stream, frames, close: () => close(), isEnded: () => isEnded };
}

test("who never reads is sent nothing more, gives up its place, and holds up nobody", () => {
  let [moves, slow] = [0, 0];
  const live = createLive(
    () => String(moves++),
    () => void slow++,
  );
  const [stuck, awake] = [reader(() => true), reader(() => false)];
  live.follow(stuck.stream, "");
  live.follow(awake.stream, "");
  for (let i = 0; i < 32 && live.admits(""); i++) live.follow(reader(() => false).stream, "");
  expect(live.admits("")).toBe(false);
  vi.advanceTimersByTime(70_000);
  expect([stuck.frames.length, stuck.isEnded(), slow]).toEqual([0, true, 1]);
  expect(awake.frames.length).toBeGreaterThan(60);
  expect(live.admits("")).toBe(true);
  stuck.close();
  awake.close();
});

test("one user of the API leaves room for others", () => {
  const live = createLive(() => "");
  let opened = 0;
  for (; live.admits("user") && opened < 40; opened++) live.follow(reader(() => false).stream, "user");
  expect(opened).toBe(8);
  expect([live.admits("another"), live.admits("")]).toEqual([true, true]);
});
