import { expect, test } from "vitest";
import { dropOldest } from "./index.ts";

test("what came first goes until few enough are left; what was put in anew is new", () => {
  const kept = new Map([1, 2, 3, 4].map((n) => [n, n]));
  kept.delete(1);
  kept.set(1, 1);
  dropOldest(kept, 2);
  expect([...kept.keys()]).toEqual([4, 1]);
  dropOldest(kept, 2);
  expect(kept.size).toBe(2);
  const names = new Set(["a"]);
  dropOldest(names, 0);
  expect([...names]).toEqual([]);
});
