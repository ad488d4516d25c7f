/** Sidecars and Telemetries: one for a namespace, one for a workload, and none for nobody. */
import { compareText } from "../../lib/index.ts";
import { matchesLabels, sidecar, telemetry } from "../../model/index.ts";
import { type Analyser, type Analysis, notFound } from "./analyser.ts";
import { type AnalysedObject, selectorText } from "./objects.ts";
import { isAmbientNamespace, isAmbientPod } from "./workload.ts";

type Object_ = AnalysedObject<unknown>;

interface Selecting {
  readonly object: Object_;
  readonly labels: Readonly<Record<string, string>>;
}

const namesOf = (objects: readonly Object_[]): string =>
  `[${objects
    .map(({ meta }) => meta.name)
    .sort(compareText)
    .join(" ")}]`;

function groupBy<T>(items: readonly T[], key: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  const out = new Map<string, T[]>();
  for (const item of items) out.set(key(item), [...(out.get(key(item)) ?? []), item]);
  return out;
}

/** For each Pod the objects that select it; what selects nothing is reported. */
function selectedPods(
  { objects, report }: Analysis,
  all: readonly Selecting[],
  path: string,
): ReadonlyMap<AnalysedObject, readonly Object_[]> {
  const byPod = new Map<AnalysedObject, Object_[]>();
  for (const { object, labels } of all) {
    const pods = objects
      .kube("Pod")
      .filter(({ meta }) => meta.namespace === object.meta.namespace && matchesLabels(labels, meta.labels));
    if (pods.length === 0) report(object, "IST0101", notFound("selector", selectorText(labels)), path);
    for (const pod of pods) byPod.set(pod, [...(byPod.get(pod) ?? []), object]);
  }
  return byPod;
}

export const sidecarSelectors: Analyser = {
  name: "sidecar.SelectorAnalyzer",
  needsCluster: true,
  run(analysis) {
    const { objects, report } = analysis;
    const all = objects.of(sidecar).map((object) => ({ object, labels: object.spec.workloadSelector?.labels ?? {} }));
    const some = all.filter(({ labels }) => Object.keys(labels).length > 0);
    const told = new Set<string>();
    const ineffective = (object: Object_, why: string): void => {
      if (!told.has(object.fullName))
        report(object, "IST0167", `The policy has no impact: ${why} is in ambient mode, the policy has no impact.`);
      told.add(object.fullName);
    };
    for (const [pod, selecting] of selectedPods(analysis, some, "spec.workloadSelector.labels"))
      for (const object of selecting)
        if (isAmbientPod(pod)) ineffective(object, "selected workload");
        else if (selecting.length > 1)
          report(
            object,
            "IST0110",
            `The Sidecars ${namesOf(selecting)} in namespace ${JSON.stringify(pod.meta.namespace)} select the same workload pod ${JSON.stringify(pod.meta.name)}, which can lead to undefined behavior.`,
            "metadata.name",
          );
    const wide = all.filter(({ labels }) => Object.keys(labels).length === 0).map(({ object }) => object);
    for (const [namespace, sidecars] of groupBy(wide, ({ meta }) => meta.namespace)) {
      const ambient = isAmbientNamespace(objects.kube("Namespace").find(({ meta }) => meta.name === namespace));
      for (const object of sidecars)
        if (ambient) ineffective(object, "namespace");
        else if (sidecars.length > 1)
          report(
            object,
            "IST0111",
            `The Sidecars ${namesOf(sidecars)} in namespace ${JSON.stringify(namespace)} have no workload selector, which can lead to undefined behavior.`,
          );
    }
  },
};

export const telemetrySelectors: Analyser = {
  name: "telemetry.SelectorAnalyzer",
  needsCluster: true,
  run(analysis) {
    const some = analysis.objects
      .of(telemetry)
      .map((object) => ({ object, labels: object.spec.selector?.matchLabels ?? {} }))
      .filter(({ labels }) => Object.keys(labels).length > 0);
    for (const [pod, selecting] of selectedPods(analysis, some, "spec.selector.matchLabels"))
      for (const object of selecting.length > 1 ? selecting : [])
        analysis.report(
          object,
          "IST0159",
          `The Telemetries ${namesOf(selecting)} in namespace ${JSON.stringify(pod.meta.namespace)} select the same workload pod ${JSON.stringify(pod.meta.name)}, which can lead to undefined behavior.`,
          "metadata.name",
        );
  },
};

export const telemetryDefaults: Analyser = {
  name: "telemetry.DefaultSelectorAnalyzer",
  needsCluster: false,
  run({ objects, report }) {
    const wide = objects.of(telemetry).filter(({ spec }) => !spec.selector);
    for (const [namespace, all] of groupBy(wide, ({ meta }) => meta.namespace))
      for (const object of all.length > 1 ? all : [])
        report(
          object,
          "IST0160",
          `The Telemetries ${namesOf(all)} in namespace ${JSON.stringify(namespace)} have no workload selector, which can lead to undefined behavior.`,
        );
  },
};

export const telemetryProviders: Analyser = {
  name: "telemetry.ProviderAnalyzer",
  needsCluster: false,
  run({ objects, mesh, report }) {
    if ((mesh.defaultProviders?.accessLogging ?? []).length > 0) return;
    for (const object of objects.of(telemetry))
      for (const { disabled, providers = [] } of object.spec.accessLogging ?? [])
        if (!disabled && providers.length === 0)
          report(
            object,
            "IST0157",
            `The Telemetry ${object.meta.name} in namespace ${JSON.stringify(object.meta.namespace)} with empty providers will be ignored.`,
          );
  },
};

export const lightstep: Analyser = {
  name: "telemetry.LightstepAnalyzer",
  needsCluster: false,
  run({ objects, mesh, report }) {
    const names = new Set(
      (mesh.extensionProviders ?? []).filter((provider) => provider.lightstep).map(({ name = "" }) => name),
    );
    for (const object of objects.of(telemetry))
      for (const { providers = [] } of object.spec.tracing ?? [])
        for (const { name = "" } of providers)
          if (names.has(name))
            report(
              object,
              "IST0002",
              `Deprecated: The Lightstep provider ${name} is deprecated, please migrate to OpenTelemetry provider.`,
            );
  },
};
