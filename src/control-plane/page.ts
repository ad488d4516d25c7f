/** The parts of a control plane in; the handler of its page, where it is to have one, out. */
import type { Collection } from "../collections/index.ts";
import { createDashboard } from "../dashboard/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { HttpHandler, Metrics } from "../ops/index.ts";
import { type ProblemSources, problemInputs } from "./controllers/problem-reports.ts";
import { createShowResource } from "./debug/config-dump.ts";
import type { DashboardSettings } from "./discovery-options.ts";
import { createMeshReads, type MeshReadsInputs } from "./reads/index.ts";
import { refusalsByObject } from "./refusals.ts";
import { type Trust, trustFacts } from "./trust/index.ts";

export interface PageParts extends Omit<MeshReadsInputs, "showResource" | "identities" | "problemInputs"> {
  objects(group: string, kind: string): Collection<KubeObject>;
  readonly patches: ProblemSources["patches"];
  readonly trust: Trust;
  readonly metrics: Metrics;
}

export function createPage(settings: DashboardSettings | undefined, parts: PageParts): HttpHandler | undefined {
  if (!settings) return undefined;
  const { ads, resources, stages, objects, patches, refusals, trust, metrics, now } = parts;
  const reads = createMeshReads({
    ...parts,
    showResource: createShowResource(resources, ads),
    identities: () => trustFacts(trust),
    problemInputs: () =>
      problemInputs({
        ...{ objects, patches, now, meshConfig: stages.settings.text, decoding: stages.problems },
        refusals: { byObject: () => refusalsByObject(refusals()) },
      }),
  });
  return createDashboard({
    ...settings,
    reads,
    nowMs: () => now().getTime(),
    onRefused: (why) => metrics.count("fairlead_dashboard_refused_total", { why }),
  });
}
