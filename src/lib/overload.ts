/**
 * What this process has left of memory and file descriptors in; whether more work may begin out. What is refused is
 * counted, and told once while it lasts.
 */
import { readFileSync } from "node:fs";
import type { Heap } from "./heap.ts";
import type { Logger } from "./log.ts";

/** What there is too little of. */
export type Shortage = "memory" | "descriptors";
/** What was not begun. */
export type Refused = "connection" | "request" | "stream";

export interface Overload {
  /** Whether memory is short: nothing new that lasts or grows should begin. */
  readonly shortOfMemory: boolean;
  /**
   * For a connection that was just accepted: it is given the lowest free descriptor, which so tells how many are taken.
   * `few`: it may be answered that there is no room; `none`: it has to go at once.
   */
  descriptorsAfter(descriptor: number): "enough" | "few" | "none";
  /** Counts it, and tells it where it is the first in a while. */
  refuse(what: Refused, cause: Shortage): void;
  /** Told when refusals begin, with the sentence that the log has. */
  onBegin(listener: (cause: Shortage, message: string) => void): void;
  /** By `what` and `cause`. */
  refusals(): readonly Refusals[];
  readonly heap: { readonly limitBytes: number; readonly share: number };
  readonly descriptorLimit: number;
}

export interface Refusals {
  readonly what: Refused;
  readonly cause: Shortage;
  readonly count: number;
}

export interface OverloadOptions {
  readonly heap: Heap;
  /** How many descriptors this process may have. */
  readonly descriptorLimit: number;
  readonly log: Logger;
  readonly monotonicMs: () => number;
}

/** From here on new work is refused, until so much is free again. */
const [shortAt, enoughAt] = [0.85, 0.8];
/** Refusals further apart than this are told of anew. */
const quietMs = 60_000;

export function createOverload(options: OverloadOptions): Overload {
  const { heap, descriptorLimit, log } = options;
  const counts = new Map<string, Refusals>();
  const lastMs = new Map<Shortage, number>();
  const listeners: ((cause: Shortage, message: string) => void)[] = [];
  // For files, the store, calls to others, and to answer those who are refused.
  const reserve = Math.min(256, Math.ceil(descriptorLimit / 4));
  let short = false;

  return {
    get shortOfMemory() {
      short = heap.share() >= (short ? enoughAt : shortAt);
      return short;
    },
    descriptorsAfter(descriptor) {
      const left = descriptorLimit - descriptor - 1;
      if (left >= reserve) return "enough";
      return left >= reserve / 4 ? "few" : "none";
    },
    refuse(what, cause) {
      const key = `${what}|${cause}`;
      counts.set(key, { what, cause, count: (counts.get(key)?.count ?? 0) + 1 });
      const now = options.monotonicMs();
      const isNew = now - (lastMs.get(cause) ?? Number.NEGATIVE_INFINITY) > quietMs;
      lastMs.set(cause, now);
      if (!isNew) return;
      const message = sentence(cause, what, options);
      log.warn(message);
      for (const listener of listeners) listener(cause, message);
    },
    onBegin: (listener) => void listeners.push(listener),
    refusals: () => [...counts.values()],
    heap: {
      limitBytes: heap.limitBytes,
      get share() {
        return heap.share();
      },
    },
    descriptorLimit,
  };
}

function sentence(cause: Shortage, what: Refused, { heap, descriptorLimit }: OverloadOptions): string {
  if (cause === "descriptors")
    return `file descriptors run out (at most ${descriptorLimit}): new ${what}s are refused; raise the limit with ulimit -n`;
  const [percent, limit] = [Math.round(heap.share() * 100), Math.round(heap.limitBytes / 2 ** 20)];
  return `memory runs out (${percent} % of a heap of ${limit} MB): new ${what}s are refused; give more with NODE_OPTIONS=--max-old-space-size=MB`;
}

/** Of open files, as the system tells it; unlimited where it does not. */
export function descriptorLimit(limitsFile = "/proc/self/limits"): number {
  try {
    const [, soft = ""] = /^Max open files\s+(\S+)/m.exec(readFileSync(limitsFile, "utf8")) ?? [];
    return /^\d+$/.test(soft) ? Number(soft) : Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
