/** V8's settings for the control plane, made when it starts: it rests for long, and then works for a second for all proxies. */
import { setFlagsFromString } from "node:v8";

const settings = [
  // A change of a second is over before the compiler's threads are done with it: they compile what stays busy.
  "--invocation-count-for-maglev=1000",
  "--invocation-count-for-turbofan=15000",
  // The young generation is small: to wake threads for it costs more than they save.
  "--no-parallel-scavenge",
  // While a fleet connects the heap grows by half, and is marked anew for each step of the growth.
  "--heap-growing-percent=60",
];

/** Names of V8's settings belong to its version; with another one its own are as good. */
export function tuneRuntime(): void {
  if (process.versions.node.startsWith("24.")) for (const setting of settings) setFlagsFromString(setting);
}
