/** Versions that proxies give themselves in; how many of each are connected out, as `pilot_xds`. */
import type { XdsMetrics } from "../metrics.ts";

export interface VersionCounts {
  /** Until the returned function is called. */
  add(version: unknown): () => void;
}

/** What a proxy says of itself becomes a label, and every label is kept: only what looks like a version, and few of them. */
const version = /^\d{1,3}\.\d{1,3}(?:\.\d{1,3})?(?:-[\w.]{1,20})?$/;
const mostVersions = 30;

export function createVersionCounts(metrics: XdsMetrics): VersionCounts {
  const counts = new Map<string, number>();
  const change = (label: string, by: number): void => {
    const count = (counts.get(label) ?? 0) + by;
    counts.set(label, count);
    metrics.set("pilot_xds", count, { version: label });
  };
  const labelOf = (given: unknown): string => {
    if (given === undefined || given === "") return "";
    if (typeof given !== "string" || !version.test(given)) return "other";
    return counts.has(given) || counts.size < mostVersions ? given : "other";
  };
  return {
    add(given) {
      const label = labelOf(given);
      change(label, 1);
      return () => change(label, -1);
    },
  };
}
