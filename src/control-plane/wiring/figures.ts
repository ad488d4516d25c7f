/** The parts of a control plane in; the figures that it exports of itself and its mesh out, those that are told by nobody else. */
import { type CertificateAuthority, caGauges } from "../../ca/index.ts";
import { FairleadError } from "../../lib/index.ts";
import { istioVersion } from "../../model/index.ts";
import { measureProcess } from "../../ops/index.ts";
import { measureConflicts } from "../conflict-metrics.ts";
import { createLooksSoon } from "../looks-soon.ts";
import { measureModel } from "../model-metrics.ts";
import { countObjects } from "../object-metrics.ts";
import { measureParts } from "../part-metrics.ts";
import type { ControlledSource } from "../source/resource-source.ts";
import type { Stages } from "../stages.ts";
import type { Plane } from "./plane.ts";
import type { Xds } from "./xds.ts";

export interface FiguresInputs {
  readonly stages: Stages;
  readonly resources: ControlledSource;
  readonly xds: Xds;
  readonly authority: CertificateAuthority | undefined;
}

export function exportFigures(plane: Plane, inputs: FiguresInputs): void {
  const { options, metrics, graph, watched, signal } = plane;
  const { stages, resources } = inputs;
  measureProcess(metrics, signal, options);
  countObjects(metrics, watched);
  measureModel(metrics, { ...stages, graph, objects: watched.objects, resources });
  measureParts(metrics, resources);
  measureConflicts(metrics, {
    graph,
    domain: options.domain,
    services: stages.registry.services,
    ...stages.configs,
    classes: resources.proxyClasses,
  });
  countRefused(plane, inputs.xds);
  describeState(plane, inputs);
}

/** Found when it may have changed: a scrape is answered at once, and to find it takes a while. */
function countRefused({ options, metrics, signal }: Plane, xds: Xds): void {
  metrics.set("fairlead_refused_objects", 0);
  const looks = createLooksSoon({
    waitMs: 200,
    look: async () => metrics.set("fairlead_refused_objects", (await xds.refusalsByObject()).size),
    onFault: (error) => options.log.error(`counting objects that are refused: ${FairleadError.from(error).message}`),
  });
  const stop = xds.onRefusals(looks.signal);
  const end = (): void => {
    stop();
    looks.stop();
  };
  signal.addEventListener("abort", end, { once: true });
  looks.signal();
}

function describeState(
  { options, metrics, watched }: Plane,
  { stages, resources, xds, authority }: FiguresInputs,
): void {
  const started = options.monotonicMs();
  metrics.set("istio_build", 1, { component: "pilot", tag: istioVersion });
  metrics.set("pilot_info", 1, { version: istioVersion });
  metrics.onScrape(() => {
    metrics.set("istiod_uptime_seconds", (options.monotonicMs() - started) / 1000);
    metrics.set("pilot_services", stages.registry.services.size);
    metrics.set("pilot_virt_services", watched.objects("networking.istio.io", "VirtualService").size);
    metrics.set("fairlead_classes", resources.classes);
    metrics.set("fairlead_waiting_pushes", xds.ads.waiting());
    for (const [name, value] of authority ? Object.entries(caGauges(authority, options.now)) : [])
      if (value === undefined) metrics.remove(name, {});
      else metrics.set(name, value);
  });
}
