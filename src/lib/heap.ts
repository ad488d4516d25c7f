/** The heap of this process in; how much of it is taken by what lives out. */
import { Session } from "node:inspector";
import { constants, type PerformanceEntry, PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, getHeapStatistics } from "node:v8";

export interface Heap {
  /** What is taken of the limit, from 0 to 1: garbage counts only where there is nearly nothing left beside it. */
  share(): number;
  readonly limitBytes: number;
  close(): void;
}

const mebibyte = 2 ** 20;
/** Beyond this share the runtime is about to give up, whatever is garbage. */
const last = 0.95;
/** From this share on it is worth knowing how much of it is garbage: where work is refused, nothing makes the runtime look. */
const high = 0.8;
/** To look takes about a second for each GB: a large heap is looked at less often. */
const lookMs = (liveBytes: number): number => 10_000 * Math.max(1, liveBytes / (256 * mebibyte));

/** A herd asks for each of its streams: what was looked up counts until a heap that grows faster than any could be full. */
const freshMs = (roomBytes: number): number => Math.max(10, roomBytes / (4 * mebibyte));

/** Objects that outlive their first moments; beyond what these may take, the runtime ends the process. */
function oldBytes(): number {
  return getHeapSpaceStatistics()
    .filter(({ space_name }) => !space_name.startsWith("new_"))
    .reduce((sum, { space_used_size }) => sum + space_used_size, 0);
}

export function watchHeap(flags: readonly string[]): Heap {
  const limitBytes = oldLimitBytes(flags);
  let live = 0;
  let lookedMs = 0;
  let used = { bytes: 0, atMs: Number.NEGATIVE_INFINITY };
  // Right after a full collection all that is left is alive.
  const observer = new PerformanceObserver((list) => {
    // Entries of collections have more than their type says.
    const entries: readonly (PerformanceEntry & { readonly detail?: { readonly kind?: number } })[] = list.getEntries();
    if (entries.some(({ detail }) => detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR)) looked();
  });
  observer.observe({ entryTypes: ["gc"] });
  const looked = (): void => {
    live = oldBytes();
    lookedMs = performance.now();
    used = { bytes: live, atMs: lookedMs };
  };
  return {
    limitBytes,
    share() {
      const nowMs = performance.now();
      if (live / limitBytes >= high && nowMs - lookedMs > lookMs(live)) {
        collect();
        looked();
      }
      if (nowMs - used.atMs > freshMs(limitBytes - used.bytes)) used = { bytes: oldBytes(), atMs: nowMs };
      const share = used.bytes / limitBytes;
      return share >= last ? share : Math.min(share, live / limitBytes);
    },
    close: () => observer.disconnect(),
  };
}

function collect(): void {
  const session = new Session();
  session.connect();
  session.post("HeapProfiler.collectGarbage");
  session.disconnect();
}

/** The runtime tells its limit together with what young objects may take, which is three times one of their spaces. */
function oldLimitBytes(flags: readonly string[]): number {
  const given = flagValue(flags, "max-old-space-size");
  if (given !== undefined) return given * mebibyte;
  const young = 3 * (flagValue(flags, "max-semi-space-size") ?? 64) * mebibyte;
  const whole = getHeapStatistics().heap_size_limit;
  return Math.max(whole - young, whole / 2);
}

function flagValue(flags: readonly string[], name: string): number | undefined {
  const values = flags.flatMap((flag) => {
    const [, key = "", value = ""] = /^--([a-z_-]+)=(\d+)$/.exec(flag) ?? [];
    return key.replaceAll("_", "-") === name && value !== "" ? [Number(value)] : [];
  });
  return values.at(-1);
}
