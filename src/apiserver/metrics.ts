/** What the API does in, the text of `/metrics` out. */
import { Counter, Gauge, Registry } from "prom-client";
import { measureLoopDelay, type Overload, type Watchdog } from "../lib/index.ts";
import type { WatchHub } from "./watch-hub.ts";

export interface ApiMetrics {
  answered(method: string, code: number): void;
  text(): Promise<string>;
  close(): void;
}

interface Watched {
  readonly watchdog: Watchdog;
  readonly hub: WatchHub;
  /** Writes that wait for the disk. */
  readonly waitingWrites: () => number;
  readonly overload: Overload | undefined;
  /** How often it was started again. */
  readonly restarts: number;
}

/** A label is never what a client wrote. */
const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]);

export function createApiMetrics({ watchdog, hub, waitingWrites, overload, restarts }: Watched): ApiMetrics {
  const registry = new Registry();
  const registers = [registry];
  const delay = measureLoopDelay();
  const answers = new Counter({
    name: "fairlead_api_requests_total",
    help: "Requests answered, by method and code.",
    labelNames: ["method", "code"],
    registers,
  });
  const gauge = (name: string, help: string, value: () => number): void => {
    new Gauge({ name, help, registers, collect: set(value) });
  };
  gauge("fairlead_api_restarts", "How often the API was started again.", () => restarts);
  gauge("fairlead_api_watches", "Watches that are open.", () => hub.size);
  gauge("fairlead_api_waiting_writes", "Writes that wait for the disk.", waitingWrites);
  gauge("fairlead_api_resident_bytes", "Resident memory of the process.", () => process.memoryUsage.rss());
  if (overload) {
    gauge("fairlead_api_heap_share", "How much of the heap's limit is taken by what lives.", () => overload.heap.share);
    new Counter({
      name: "fairlead_api_shed_total",
      help: "What was refused because memory or file descriptors ran out.",
      labelNames: ["what", "cause"],
      registers,
      collect() {
        this.reset();
        for (const { what, cause, count } of overload.refusals()) this.inc({ what, cause }, count);
      },
    });
  }
  new Counter({
    name: "fairlead_api_long_turns_total",
    help: "How often one request held the event loop for more than 100 ms of processor; the log names it.",
    registers,
    collect() {
      this.reset();
      this.inc(watchdog.longTurns);
    },
  });
  new Gauge({
    name: "fairlead_api_event_loop_delay_seconds",
    help: "How late the event loop is, since the last time this was read.",
    labelNames: ["quantile"],
    registers,
    collect() {
      for (const [quantile, seconds] of delay.take()) this.set({ quantile }, seconds);
    },
  });
  return {
    answered: (method, code) => answers.inc({ method: methods.has(method) ? method : "other", code }),
    text: () => registry.metrics(),
    close: delay.stop,
  };
}

function set(value: () => number): (this: Gauge) => void {
  return function (this: Gauge): void {
    this.set(value());
  };
}
