/** What the runtime is told by processes that serve others for long: V8's settings for the control plane, and the threads' priorities. */
import { readdirSync, readFileSync } from "node:fs";
import { getPriority, setPriority } from "node:os";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const settings = [
  // A change of a second is over before the compiler's threads are done with it: they compile what stays busy. The last
  // step of optimising took a fifth of the CPU of twenty changes for 500 proxies, and saved less.
  "--invocation-count-for-maglev=1000",
  "--invocation-count-for-turbofan=200000",
  // The young generation is small: to wake threads for it costs more than they save.
  "--no-parallel-scavenge",
  // While a fleet comes back the heap grows by half, nearly all of it stays, and marking it finds little: a tenth of the
  // CPU that warming a proxy takes.
  "--heap-growing-percent=200",
  // Where it was quiet for 8 s, V8 collects twice to give memory back: not in the moment in which a fleet begins to come.
  "--memory-reducer-gc-count=0",
];

/** When a fleet has come, what grows is what changes leave behind. */
const settled = ["--heap-growing-percent=60", "--memory-reducer-gc-count=2"];
/** As long as what was rendered ahead is held for the fleet. */
const settlingMs = 120_000;

/** Names of V8's settings belong to its version; with another one its own are as good. */
export function tuneRuntime(): void {
  if (!process.versions.node.startsWith("24.")) return;
  settings.forEach(set);
  setTimeout(() => settled.forEach(set), settlingMs).unref();
}

const set = (setting: string): void => setFlagsFromString(setting);

/**
 * Collects what starting has left behind, a fifth of the heap, while nobody waits for us. Else V8 does it in the midst of a
 * fleet that comes back, where marking takes a tenth of all that warming it costs.
 */
export function collectStart(): void {
  setFlagsFromString("--expose-gc");
  // Contexts that are there already do not get it.
  const collect = runInNewContext("gc") as () => void;
  collect();
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
