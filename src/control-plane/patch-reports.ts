/** What became of EnvoyFilters' patches in; istiod's metric, a line in the log for each that was not wholly applied, and which were skipped, out. */
import type { Logger } from "../lib/index.ts";
import type { Metrics } from "../ops/index.ts";
import { type PatchReport, sayReport } from "../render/index.ts";

export interface PatchReports {
  report(report: PatchReport): void;
  /** Why patches were skipped, by filter (`namespace/name`) and field. */
  readonly skipped: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** The filter has changed: what was wrong with it may no longer be. */
  forget(filter: string): void;
  /** Told when there is more. */
  subscribe(listener: () => void): () => void;
}

/** Distinct problems that are remembered; beyond it they are told again. */
const maxTold = 10_000;

export function createPatchReports(metrics: Metrics, log: Logger): PatchReports {
  const told = new Set<string>();
  const skipped = new Map<string, Map<string, string>>();
  const listeners = new Set<() => void>();

  const note = ({ filter, field, problem }: PatchReport): void => {
    const own = skipped.get(filter) ?? new Map<string, string>();
    // One proxy may take what another refuses: that one took it does not make it good.
    if (problem === undefined || own.get(field) === problem) return;
    skipped.set(filter, own.set(field, problem));
    for (const listener of listeners) listener();
  };
  return {
    skipped,
    report(report) {
      const { filter, kind, problem } = report;
      const result = problem === undefined ? "applied" : "error";
      metrics.set("pilot_envoy_filter_status", 1, { name: filter, patch: kind, result });
      note(report);
      const line = sayReport(report);
      if (line === undefined || told.has(line)) return;
      if (told.size >= maxTold) told.clear();
      told.add(line);
      log.warn(line);
    },
    forget: (filter) => skipped.delete(filter),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
