import { expect, onTestFinished, test } from "vitest";
import { createMetrics } from "./metrics.ts";
import { measureProcess } from "./process-metrics.ts";

test("what the process itself costs is looked up at each scrape", async () => {
  const [metrics, stop] = [createMetrics(), new AbortController()];
  onTestFinished(() => stop.abort());
  measureProcess(metrics, stop.signal, { restarts: 2 });
  expect(await metrics.text()).toMatch(/^fairlead_restarts_total 2$/m);
  // Each look begins anew.
  await expect.poll(metrics.text, { interval: 200 }).toMatch(/^fairlead_event_loop_delay_samples [1-9]/m);
  const soon = { interval: 200 };
  await expect.poll(metrics.text, soon).toMatch(/^fairlead_event_loop_delay_seconds\{quantile="1"\} \S*[1-9]/m);
});
