/** What became of EnvoyFilters' patches in; istiod's metric, and a line in the log for each that was skipped, out. */
import type { Logger } from "../lib/index.ts";
import type { Metrics } from "../ops/index.ts";
import type { PatchReport } from "../render/index.ts";

/** Distinct problems that are remembered; beyond it they are told again. */
const maxTold = 10_000;

export function createPatchReports(metrics: Metrics, log: Logger): (report: PatchReport) => void {
  const told = new Set<string>();
  return ({ filter, field, kind, problem }) => {
    const result = problem === undefined ? "applied" : "error";
    metrics.set("pilot_envoy_filter_status", 1, { name: filter, patch: kind, result });
    if (problem === undefined) return;
    const line = `EnvoyFilter ${filter}: ${field} is skipped: ${problem}`;
    if (told.has(line)) return;
    if (told.size >= maxTold) told.clear();
    told.add(line);
    log.warn(line);
  };
}
