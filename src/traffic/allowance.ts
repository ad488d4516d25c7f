/** Reports of somebody and the edges that they name in; whether these may be, or are too many, out. It outlasts his streams. */
import { hash, randomBytes } from "node:crypto";
import { createBucket } from "../lib/index.ts";

export interface Allowance {
  mayReport(): boolean;
  /** False from the edge on that is one too many. */
  tellsApart(edge: string): boolean;
}

export interface Pace {
  readonly burst: number;
  readonly perSecond: number;
}

/** A workload has fewer peers, or should see them by namespace. */
const maxEdges = 256;
/** After so long, peers that have gone make room for others. */
const forgetMs = 3_600_000;

export function createAllowance({ burst, perSecond }: Pace, monotonicMs: () => number): Allowance {
  const reports = createBucket(burst, perSecond, monotonicMs);
  // Numbers, because there may be very many reporters: two names that are taken for one by chance do no harm.
  const seen = new Set<number>();
  let forgotMs = monotonicMs();
  return {
    mayReport: () => reports.take(),
    tellsApart(edge) {
      const nowMs = monotonicMs();
      if (nowMs - forgotMs > forgetMs) {
        seen.clear();
        forgotMs = nowMs;
      }
      const name = shortHash(edge);
      if (seen.has(name)) return true;
      if (seen.size >= maxEdges) return false;
      seen.add(name);
      return true;
    },
  };
}

/** Nobody outside knows it: otherwise a workload could look for thousands of names that are taken for one. */
const key = randomBytes(16).toString("latin1");

/** 30 bits, which are no objects of their own. */
const shortHash = (text: string): number => hash("sha256", `${key}${text}`, "buffer").readUInt32LE(0) >>> 2;
