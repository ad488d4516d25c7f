/** What the runtime is told by processes that serve others for long: V8's settings for the control plane, and the threads' priorities. */
import { readdirSync, readFileSync } from "node:fs";
import { getPriority, setPriority } from "node:os";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { FleetRuntime } from "../control-plane/index.ts";

const settings = [
  // A change of a second is over before the compiler's threads are done with it: they compile what stays busy. The last
  // step of optimising took a fifth of the CPU of twenty changes for 500 proxies, and saved less.
  "--invocation-count-for-maglev=100",
  "--invocation-count-for-turbofan=200000",
  // The young generation is small: to wake threads for it costs more than they save.
  "--no-parallel-scavenge",
];

/**
 * While a fleet comes the heap grows by half, nearly all of it stays, and marking it finds little: a tenth of the CPU that
 * warming a proxy takes. And where it was quiet for 8 s, V8 collects twice to give memory back: not in the moment in which a
 * fleet begins to come.
 */
const forFleets = ["--heap-growing-percent=100", "--memory-reducer-gc-count=0"];

/**
 * When a fleet has come, what grows is what changes leave behind. Pages that V8 has freed stay resident until it reduces its
 * memory, so the largest heap that there was is what counts.
 */
const settled = ["--heap-growing-percent=45", "--memory-reducer-gc-count=2"];

/** A full collection takes up to a millisecond for each megabyte: a larger heap is left to V8, as others want answers too. */
const maxCollected = 200 * 2 ** 20;

/** Names of V8's settings belong to its version; with another one its own are as good. */
export function tuneRuntime(): FleetRuntime {
  const isKnown = process.versions.node.startsWith("24.");
  if (isKnown) [...settings, ...forFleets].forEach(set);
  let isStarting = true;
  return {
    expect: (isExpected) => void (isKnown && (isExpected ? forFleets : settled).forEach(set)),
    collect() {
      if (isStarting || process.memoryUsage().heapUsed <= maxCollected) collect();
      isStarting = false;
    },
  };
}

const set = (setting: string): void => setFlagsFromString(setting);

/**
 * What was made in passing, such as a start leaves behind, a fifth of the heap, is collected while nobody waits for us. Else
 * V8 does it in the midst of a fleet that comes, where marking takes a tenth of all that warming it costs.
 */
function collect(): void {
  setFlagsFromString("--expose-gc");
  // Contexts that are there already do not get it.
  (runInNewContext("gc") as () => void)();
}

/** The event loop keeps nine tenths of a core that it has to share with one of V8's threads. */
const nicer = 10;
/** Linux knows none below this. */
const lowest = 19;

/**
 * V8's own threads, which mark garbage and compile, yield to the event loop: whoever has one core only would else wait for
 * them as long as for us (certificates at 500 a second: p99 53-63 ms instead of 108-143). What they do can wait, answers cannot.
 */
export function favourEventLoop(): void {
  try {
    const priority = Math.min(getPriority() + nicer, lowest);
    for (const thread of v8Threads()) setPriority(thread, priority);
  } catch {
    // A machine that has no such list, or does not let us: then all threads are alike.
  }
}

function v8Threads(): readonly number[] {
  const threads = "/proc/self/task";
  const nameOf = (thread: string): string => readFileSync(`${threads}/${thread}/comm`, "utf8").trim();
  return readdirSync(threads)
    .filter((thread) => nameOf(thread) === "V8Worker")
    .map(Number);
}
