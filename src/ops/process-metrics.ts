/** Metrics in; the same with what the process itself costs, looked up at each scrape, out. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Metrics } from "./metrics.ts";

/** Node measures from one tick to the next, so that its idle delay is the tick. */
const tickMs = 10;

/** Parts of memory, as Node tells them: heap is what objects take, external what they hold outside of it. */
const parts = ["heapUsed", "heapTotal", "external", "arrayBuffers"] as const;

export function measureProcess(metrics: Metrics, signal: AbortSignal): void {
  const delay = monitorEventLoopDelay({ resolution: tickMs });
  delay.enable();
  signal.addEventListener("abort", () => delay.disable(), { once: true });
  metrics.set("process_start_time_seconds", performance.timeOrigin / 1000);
  let counted = 0;
  metrics.onScrape(() => {
    const { user, system } = process.cpuUsage();
    const seconds = (user + system) / 1e6;
    metrics.count("process_cpu_seconds_total", {}, seconds - counted);
    counted = seconds;
    const memory = process.memoryUsage();
    metrics.set("process_resident_memory_bytes", memory.rss);
    for (const part of parts) metrics.set("fairlead_memory_bytes", memory[part], { part });
    for (const quantile of [0.5, 0.99, 1])
      metrics.set("fairlead_event_loop_delay_seconds", pastTick(delay.percentile(quantile * 100)), {
        quantile: String(quantile),
      });
    // What was told belongs to the time since the scrape before.
    delay.reset();
  });
}

const pastTick = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e9 - tickMs / 1000);
