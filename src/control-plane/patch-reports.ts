/** What became of EnvoyFilters' patches in; istiod's metric, a line in the log for each that was not wholly applied, and which were skipped, out. */
import type { Logger } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { Labels, Metrics } from "../ops/index.ts";
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

/** Distinct problems of one filter that are remembered; beyond it they are told again. */
const maxTold = 100;

/** What is known of one filter; all of it goes with the filter. */
interface Known {
  readonly told: Set<string>;
  /** Label sets, by patched kind and result. */
  readonly counted: Map<string, Labels>;
}

export function createPatchReports(metrics: Metrics, log: Logger): PatchReports {
  const known = new Map<string, Known>();
  const skipped = new Map<string, Map<string, string>>();
  const listeners = new Set<() => void>();

  const knownOf = (filter: string): Known => {
    const found = known.get(filter) ?? { told: new Set(), counted: new Map() };
    known.set(filter, found);
    return found;
  };
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
      const { told, counted } = knownOf(filter);
      const result = problem === undefined ? "applied" : "error";
      const labels = { name: filter, patch: kind, result };
      counted.set(`${kind} ${result}`, labels);
      metrics.set("pilot_envoy_filter_status", 1, labels);
      note(report);
      const line = sayReport(report);
      if (line === undefined || told.has(line)) return;
      if (told.size >= maxTold) told.clear();
      told.add(line);
      log.warn(line);
    },
    forget(filter) {
      for (const labels of known.get(filter)?.counted.values() ?? [])
        metrics.remove("pilot_envoy_filter_status", labels);
      known.delete(filter);
      skipped.delete(filter);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** For whoever watches EnvoyFilters: what was told of one is about the spec that it had. */
export function forgetChanged(
  reports: PatchReports,
  filter: string,
  next: KubeObject | undefined,
  before: KubeObject | undefined,
): void {
  if (next?.metadata.generation !== before?.metadata.generation) reports.forget(filter);
}
