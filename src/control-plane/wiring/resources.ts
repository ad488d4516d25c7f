/** The mesh in; encoded resources for each connected proxy out, with what becomes of them counted and told. */
import { createEnvoyTypes, type EnvoyTypes, type RenderFault } from "../../render/index.ts";
import type { ProxyProgress, ResourceSource } from "../../xds/index.ts";
import { pushEndpointsAtOnce } from "../endpoints-at-once.ts";
import { createIncrementalCheck, incrementalReports } from "../incremental-check.ts";
import { createPatchReports, forgetChanged, type PatchReports } from "../patch-reports.ts";
import { proxyOfNode } from "../proxy-of-node.ts";
import { createPushReasons } from "../push-reasons.ts";
import { createRenderProblems } from "../render-problems.ts";
import type { SecretAccess } from "../secret-access.ts";
import { createFreshSource } from "../source/fresh-source.ts";
import { type ControlledSource, createResourceSource } from "../source/resource-source.ts";
import type { Stages, StagesOptions } from "../stages.ts";
import type { Plane } from "./plane.ts";

/** What became of the patches of EnvoyFilters, as long as these are as they were. */
export function followPatches({ options, metrics, watched }: Plane): PatchReports {
  const reports = createPatchReports(metrics, options.log.scope("envoyfilter"));
  watched
    .objects("networking.istio.io", "EnvoyFilter")
    .subscribe((key, next, before) => forgetChanged(reports, key, next, before));
  return reports;
}

/** The types that patches may name. They take their time, so they are waited for only where there are patches. */
export async function loadPatchTypes({ graph, watched }: Plane): Promise<EnvoyTypes> {
  const envoyTypes = createEnvoyTypes(graph);
  if (watched.objects("networking.istio.io", "EnvoyFilter").size > 0) await envoyTypes.load();
  return envoyTypes;
}

export interface ResourcesInputs {
  readonly stages: Stages;
  readonly envoyTypes: EnvoyTypes;
  readonly patchReports: PatchReports;
  readonly secretAccess: SecretAccess;
}

export function createResources(plane: Plane, inputs: ResourcesInputs): ControlledSource {
  const { options, metrics, watched } = plane;
  const { stages, envoyTypes, patchReports, secretAccess } = inputs;
  const { log, domain, cluster } = options;
  const context = { mesh: stages.mesh, registry: stages.registry, domain, cluster };
  const pushReasons = createPushReasons(watched);
  const resources = createResourceSource({
    mesh: stages.mesh,
    proxyOf: (node, identity) => proxyOfNode(node, context, identity),
    classOf: stages.classOf,
    admit(proxy) {
      if (proxy.targets.length === 0)
        metrics.count("pilot_k8s_proxies_with_no_service_targets", { reason: "no_matching_services" });
      return secretAccess.hold(proxy);
    },
    debounceMs: options.debounceMs,
    debounceMaxMs: options.debounceMaxMs,
    onFault(proxy, fault) {
      metrics.count("fairlead_render_faults");
      log.error(`cannot render ${fault.name} for ${proxy?.namespace ?? "all who share it"}: ${sayError(fault)}`);
    },
    envoyTypes,
    onPatch: patchReports.report,
    onProblem: createRenderProblems(metrics, log.scope("render")),
    onDebounced: (waitedMs) => metrics.observe("pilot_debounce_time", waitedMs / 1000),
    onPush() {
      for (const type of pushReasons()) metrics.count("pilot_push_triggers", { type });
    },
    onMade: (tookMs) => metrics.observe("pilot_pushcontext_init_seconds", tookMs / 1000),
  });
  if (options.debounceEndpoints === false) pushEndpointsAtOnce(watched.objects, resources);
  return resources;
}

const sayError = ({ error }: Pick<RenderFault, "error">): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);

/** The same, and where asked for, what is given is compared with what a fresh start with these settings would give. */
export function checkIncremental(
  { options, graph, metrics, watched, signal }: Plane,
  source: ControlledSource,
  settings: Omit<StagesOptions, "graph" | "objects">,
  progress: () => Iterable<ProxyProgress>,
): ResourceSource {
  if (!options.checkIncremental) return source;
  return createIncrementalCheck({
    ...{ graph, source, progress, signal },
    fresh: () => createFreshSource(watched.all(), settings),
    ...incrementalReports(metrics, options.log.scope("incremental")),
  });
}
