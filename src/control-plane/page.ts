/** The parts of a control plane in; the handler of its page, where it is to have one, out. */
import type { Collection } from "../collections/index.ts";
import { createDashboard } from "../dashboard/index.ts";
import { type ClusterAccess, type KindRef, type KubeClient, kindRef, kubeKinds } from "../kube/index.ts";
import { type KubeObject, kinds } from "../model/index.ts";
import type { HttpHandler, Metrics } from "../ops/index.ts";
import { type ProblemSources, problemInputs } from "./controllers/problem-reports.ts";
import { createShowResource } from "./debug/config-dump.ts";
import type { DashboardSettings } from "./discovery-options.ts";
import { createEdits } from "./edits/index.ts";
import { createMeshReads, type MeshReadsInputs } from "./reads/index.ts";
import type { RefusalsByObject } from "./refusals.ts";
import { type Trust, trustFacts } from "./trust/index.ts";
import { createViewers } from "./viewers/index.ts";

type OwnInputs = "showResource" | "identities" | "problemInputs" | "namespaces" | "historyFile";

export interface PageParts extends Omit<MeshReadsInputs, OwnInputs> {
  readonly client: KubeClient;
  readonly access: ClusterAccess;
  readonly monotonicMs: () => number;
  objects(group: string, kind: string): Collection<KubeObject>;
  readonly patches: ProblemSources["patches"];
  readonly trust: Trust;
  readonly metrics: Metrics;
  refusalsByObject(): Promise<RefusalsByObject>;
}

export function createPage(settings: DashboardSettings | undefined, parts: PageParts): HttpHandler | undefined {
  if (!settings) return undefined;
  const { ads, resources, stages, objects, patches, trust, metrics, now } = parts;
  const { edit, ...others } = settings;
  const reads = createMeshReads({
    ...parts,
    namespaces: objects("", "Namespace"),
    historyFile: settings.historyFile,
    showResource: createShowResource(resources, ads),
    identities: () => trustFacts(trust),
    problemInputs: () =>
      problemInputs({
        ...{ objects, patches, now, meshConfig: stages.settings.text, decoding: stages.problems },
        refusals: { byObject: parts.refusalsByObject },
      }),
  });
  return createDashboard({
    ...others,
    ...(edit ? { edit: createEdits({ ...parts, ...edit }) } : {}),
    reads,
    viewerOf: createViewers({ ...parts, kinds: shownKinds() }),
    nowMs: () => now().getTime(),
    onRefused: (why) => metrics.count("fairlead_dashboard_refused_total", { why }),
  });
}

/** By the names that ids of objects begin with. */
function shownKinds(): ReadonlyMap<string, KindRef> {
  const core = [kubeKinds.pods, kubeKinds.services, kubeKinds.secrets, kubeKinds.endpointSlices, kubeKinds.ingresses];
  return new Map([
    ...core.map((ref) => [ref.kind, ref] as const),
    ...kindNames().map(([name, kind]) => [name, kindRef(kind)] as const),
  ]);
}

/** Of two kinds called Gateway the first is Istio's own. */
export const kindNames = (): readonly (readonly [string, (typeof kinds)[number]])[] =>
  kinds.map((kind, i) => [
    kinds.findIndex((other) => other.kind === kind.kind) < i ? `${kind.kind}.${kind.group}` : kind.kind,
    kind,
  ]);
