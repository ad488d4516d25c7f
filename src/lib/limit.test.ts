import { expect, test } from "vitest";
import { createLimit } from "./index.ts";

test("no more are under way than may be, all are done in order, and one that fails makes room", async () => {
  const limit = createLimit(2);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const work = (n: number) => () => {
    begun.push(n);
    return new Promise<number>((resolve, reject) => ends.push(() => (n === 1 ? reject(new Error("no")) : resolve(n))));
  };
  const all = [0, 1, 2, 3].map((n) => limit(work(n)).catch((error: Error) => error.message));
  expect(begun).toEqual([0, 1]);
  ends[1]?.();
  expect(await all[1]).toBe("no");
  await expect.poll(() => begun).toEqual([0, 1, 2]);
  for (const at of [0, 2]) ends[at]?.();
  await expect.poll(() => begun).toEqual([0, 1, 2, 3]);
  ends[3]?.();
  expect(await Promise.all(all)).toEqual([0, "no", 2, 3]);
});
