import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, expect, test } from "vitest";
import { createJobThread, type JobThread } from "./job-thread.ts";

const dir = mkdtempSync(join(tmpdir(), "job-thread-"));
afterAll(() => rmSync(dir, { recursive: true }));
let thread: JobThread<string, string> | undefined;
afterEach(() => thread?.close());

/** Answers each job with its own words, and counts jobs and answers where the other thread can see it without a turn. */
const script = join(dir, "echo.mjs");
writeFileSync(
  script,
  `import { parentPort, workerData } from "node:worker_threads";
parentPort.on("message", (words) => {
  Atomics.add(workerData, 1, 1);
  parentPort.postMessage({ answer: words });
  Atomics.add(workerData, 0, 1);
  Atomics.notify(workerData, 0);
});`,
);

function start(timeoutMs: number): Int32Array {
  const counts = new Int32Array(new SharedArrayBuffer(8));
  thread = createJobThread({
    ...{ script: pathToFileURL(script), data: counts, timeoutMs, idleMs: 60_000 },
    ...{ maxWaitingChars: 1000, maxWaiting: 10, maxHeapMb: 64 },
    words: { failed: "failed", slow: "takes more than", full: "full" },
  });
  return counts;
}

test("an answer that comes too late is not taken for that of the next job", async () => {
  const timeoutMs = 2000;
  const answered = start(timeoutMs);
  expect(await thread?.run("first", 1)).toBe("first");
  const outcome = new Promise<PromiseSettledResult<string | undefined>[]>((resolve) => {
    setImmediate(() => resolve(Promise.allSettled([thread?.run("late", 1), thread?.run("next", 1)])));
    // In the same turn, after which timers come before messages: its time is up, and its answer is there.
    setImmediate(() => {
      Atomics.wait(answered, 0, 1);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, timeoutMs + 100);
    });
  });
  expect((await outcome).map((one) => (one.status === "fulfilled" ? one.value : one.status))).toEqual([
    "rejected",
    "next",
  ]);
});

test("whoever has gone while waiting has no turn, and makes room", async () => {
  const counts = start(60_000);
  const first = thread?.run("first", 400);
  const gone = new AbortController();
  const waiting = thread?.run("waiting", 600, gone.signal);
  await expect(thread?.run("refused", 600)).rejects.toThrow("full");
  gone.abort();
  await expect(waiting).rejects.toThrow("gone");
  expect(await Promise.all([first, thread?.run("other", 600)])).toEqual(["first", "other"]);
  expect(counts[1]).toBe(2);
});

test("who has gone before the question is not waited for", async () => {
  start(60_000);
  await expect(thread?.run("left", 1, AbortSignal.abort())).rejects.toThrow("gone");
  expect(await thread?.run("a", 1)).toBe("a");
});
