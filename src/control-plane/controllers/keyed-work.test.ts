import { expect, test } from "vitest";
import { silentLogger } from "../../lib/index.ts";
import { runKeyedWork } from "./keyed-work.ts";

test("so many write within a second; who has nothing to write takes nobody's turn", async () => {
  const wrote: number[] = [];
  const seen: string[] = [];
  const done = Promise.withResolvers<void>();
  const stop = new AbortController();
  const queue = runKeyedWork({
    ...{ name: "work of", log: silentLogger, random: () => 0.5, signal: stop.signal, perSecond: 5 },
    async work(key, turn) {
      seen.push(key);
      if (key.startsWith("write")) {
        await turn();
        wrote.push(performance.now());
      }
      if (seen.length === 106) done.resolve();
    },
  });
  for (let i = 0; i < 100; i++) queue.due(`idle-${i}`);
  for (let i = 0; i < 6; i++) queue.due(`write-${i}`);
  await done.promise;
  expect(wrote).toHaveLength(6);
  // The sixth waited for the next second; the timer's own coarseness apart.
  expect(Number(wrote[5]) - Number(wrote[0])).toBeGreaterThan(900);
  stop.abort();
});
