/** This process in; who says when its memory or its descriptors run out, out. */
import { createOverload, descriptorLimit, type Logger, type Overload, watchHeap } from "../lib/index.ts";
import type { Io } from "./command.ts";

export function processOverload(io: Io, log: Logger): Overload {
  const fromEnvironment = (io.env.NODE_OPTIONS ?? "").split(/\s+/);
  return createOverload({
    heap: watchHeap([...fromEnvironment, ...process.execArgv]),
    descriptorLimit: descriptorLimit(),
    log,
    monotonicMs: () => performance.now(),
  });
}
