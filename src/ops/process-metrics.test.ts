import { expect, onTestFinished, test } from "vitest";
import { createOverload, silentLogger } from "../lib/index.ts";
import { createMetrics } from "./metrics.ts";
import { measureProcess } from "./process-metrics.ts";

test("what the process itself costs is looked up at each scrape", async () => {
  const [metrics, stop] = [createMetrics(), new AbortController()];
  onTestFinished(() => stop.abort());
  const overload = createOverload({
    heap: { limitBytes: 1000, share: () => 0.25, close() {} },
    ...{ descriptorLimit: 100, log: silentLogger, monotonicMs: () => 0 },
  });
  measureProcess(metrics, stop.signal, { overload, restarts: 2 });
  expect(await metrics.text()).toMatch(/^fairlead_heap_share \S*[1-9]/m);
  expect(await metrics.text()).toMatch(/^fairlead_restarts_total 2$/m);
  // Each look begins anew.
  await expect.poll(metrics.text, { interval: 200 }).toMatch(/^fairlead_event_loop_delay_samples [1-9]/m);
  const soon = { interval: 200 };
  await expect.poll(metrics.text, soon).toMatch(/^fairlead_event_loop_delay_seconds\{quantile="1"\} \S*[1-9]/m);
});
