/** Mistakes of users that rendering met in; a line in the log for each, once, and a count out. */
import type { Logger } from "../lib/index.ts";
import type { Metrics } from "../ops/index.ts";
import type { RenderProblem } from "../render/index.ts";

/** Distinct problems that are remembered; beyond it they are told again. */
const maxTold = 1000;

export function createRenderProblems(metrics: Metrics, log: Logger): (problem: RenderProblem) => void {
  const told = new Set<string>();
  return ({ object, field, problem }) => {
    const line = `${object} ${field}: ${problem}`;
    if (told.has(line)) return;
    if (told.size >= maxTold) told.clear();
    told.add(line);
    metrics.count("fairlead_settings_not_usable");
    log.warn(line);
  };
}
