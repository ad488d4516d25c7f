import { expect, onTestFinished, test } from "vitest";
import { silentLogger } from "../lib/index.ts";
import { createMetrics } from "../ops/index.ts";
import { runKeyedWork } from "./controllers/index.ts";
import { measureQueues } from "./queue-metrics.ts";

function start(work: (key: string) => Promise<void>) {
  const metrics = createMetrics();
  const queues = measureQueues(metrics);
  const run = () => {
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const options = { name: "work of", work, log: silentLogger, random: () => 0.5, signal: stop.signal };
    return { stop, queue: runKeyedWork({ ...options, meter: queues("ours") }) };
  };
  const told = async (name: string): Promise<string | undefined> =>
    new RegExp(`^${name}{queueID="ours"} (\\S+)$`, "m").exec(await metrics.text())?.[1];
  return { run, told };
}

test("a queue tells how many keys wait, how long they have waited, and how long each took", async () => {
  const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { run, told } = start(async (key) => {
    if (key === "slow") begun.resolve();
    if (key === "slow") await end.promise;
  });
  const { queue } = run();
  for (const key of ["slow", "a", "b", "a"]) queue.due(key);
  await begun.promise;
  expect([
    await told("pilot_worker_queue_depth"),
    await told("pilot_worker_queue_latency_count"),
    await told("pilot_worker_queue_duration_count"),
  ]).toEqual(["2", "1", undefined]);
  end.resolve();
  await expect.poll(() => told("pilot_worker_queue_duration_count")).toBe("3");
  expect([await told("pilot_worker_queue_depth"), await told("pilot_worker_queue_latency_count")]).toEqual(["0", "3"]);
  // Both others have waited for the slow one.
  expect(Number(await told("pilot_worker_queue_latency_sum"))).toBeGreaterThanOrEqual(
    Number(await told("pilot_worker_queue_duration_sum")) / 2,
  );
});

test("what a leader leaves behind does not wait any longer, and the next leader's queue is told instead", async () => {
  const begun = Promise.withResolvers<void>();
  const { run, told } = start(() => {
    begun.resolve();
    return new Promise(() => {});
  });
  const first = run();
  for (const key of ["a", "b", "c"]) first.queue.due(key);
  await begun.promise;
  expect(await told("pilot_worker_queue_depth")).toBe("2");
  first.stop.abort();
  expect(await told("pilot_worker_queue_depth")).toBe("0");
  run().queue.due("d");
  expect(await told("pilot_worker_queue_depth")).toBe("1");
});
