/** Metrics in; the same with what the process itself costs, looked up at each scrape, out. */
import { readdirSync } from "node:fs";
import { measureLoopDelay, type Overload } from "../lib/index.ts";
import type { Metrics } from "./metrics.ts";

/** Parts of memory, as Node tells them: heap is what objects take, external what they hold outside of it. */
const parts = ["heapUsed", "heapTotal", "external", "arrayBuffers"] as const;

export interface Measured {
  readonly overload?: Overload;
  /** How often whoever started this process had to start it again. */
  readonly restarts?: number;
}

export function measureProcess(metrics: Metrics, signal: AbortSignal, { overload, restarts = 0 }: Measured): void {
  const delay = measureLoopDelay();
  signal.addEventListener("abort", delay.stop, { once: true });
  metrics.set("process_start_time_seconds", performance.timeOrigin / 1000);
  metrics.count("fairlead_restarts_total", {}, restarts);
  if (overload) measureOverload(metrics, overload);
  let counted = 0;
  metrics.onScrape(() => {
    const { user, system } = process.cpuUsage();
    const seconds = (user + system) / 1e6;
    metrics.count("process_cpu_seconds_total", {}, seconds - counted);
    counted = seconds;
    const memory = process.memoryUsage();
    metrics.set("process_resident_memory_bytes", memory.rss);
    for (const part of parts) metrics.set("fairlead_memory_bytes", memory[part], { part });
    metrics.set("fairlead_event_loop_delay_samples", delay.samples);
    for (const [quantile, seconds] of delay.take())
      metrics.set("fairlead_event_loop_delay_seconds", seconds, { quantile: String(quantile) });
  });
}

function measureOverload(metrics: Metrics, overload: Overload): void {
  const told = new Map<string, number>();
  metrics.set("process_max_fds", overload.descriptorLimit);
  metrics.set("fairlead_heap_limit_bytes", overload.heap.limitBytes);
  metrics.onScrape(() => {
    metrics.set("process_open_fds", readdirSync("/proc/self/fd").length);
    metrics.set("fairlead_heap_share", overload.heap.share);
    for (const { what, cause, count } of overload.refusals()) {
      const key = `${what}|${cause}`;
      metrics.count("fairlead_shed_total", { what, cause }, count - (told.get(key) ?? 0));
      told.set(key, count);
    }
  });
}
