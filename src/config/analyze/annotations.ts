/** Istio's annotations on Kubernetes' objects: unknown, on the wrong kind, on their way out, or with a value that is none. */
import { podAnnotationError, podAnnotations } from "../pod-annotations.ts";
import type { Analyser, Analysis } from "./analyser.ts";
import type { AnalysedObject, KubeKind } from "./objects.ts";

const known: ReadonlyMap<string, readonly string[]> = new Map([
  ...forKinds(["Any"], "galley.istio.io/analyze-suppress gateway.istio.io/controller-version"),
  ...forKinds(
    ["Service"],
    "alpha.istio.io/canonical-serviceaccounts alpha.istio.io/kubernetes-serviceaccounts networking.istio.io/exportTo traffic.istio.io/nodeSelector",
  ),
  ...forKinds(["GatewayClass", "Gateway"], "ambient.istio.io/waypoint-inbound-binding"),
  ...forKinds(
    ["Gateway"],
    "gateway.istio.io/name-override gateway.istio.io/service-account networking.istio.io/service-type",
  ),
  ...forKinds(
    ["WorkloadEntry"],
    "istio.io/autoRegistrationGroup istio.io/connectedAt istio.io/disconnectedAt istio.io/workloadController",
  ),
  ...forKinds(["AuthorizationPolicy"], "istio.io/dry-run"),
  ...forKinds(["Service", "ServiceEntry", "Namespace"], "istio.io/use-waypoint-canary-weight"),
  ...forKinds(["Ingress"], "kubernetes.io/ingress.class"),
  ...forKinds(["Namespace", "Service", "ServiceEntry"], "networking.istio.io/traffic-distribution"),
  ...forKinds(["Namespace"], "topology.istio.io/controlPlaneClusters"),
  ...forKinds(["Pod"], podAnnotations.join(" ")),
]);

function forKinds(kinds: readonly string[], names: string): readonly (readonly [string, readonly string[]])[] {
  return names.split(" ").map((name) => [name, kinds]);
}

const deprecated: ReadonlySet<string> = new Set(
  "alpha.istio.io/canonical-serviceaccounts alpha.istio.io/kubernetes-serviceaccounts sidecar.istio.io/discoveryAddress sidecar.istio.io/extraStatTags sidecar.istio.io/inject sidecar.istio.io/statsCompression sidecar.istio.io/statsInclusionPrefixes sidecar.istio.io/statsInclusionRegexps sidecar.istio.io/statsInclusionSuffixes traffic.sidecar.istio.io/kubevirtInterfaces".split(
    " ",
  ),
);

/** Written by Istio itself. */
const own: ReadonlySet<string> = new Set([
  "sidecar.istio.io/status",
  "gateway.istio.io/controller-version",
  "istio.io/rev",
]);

const inject = "sidecar.istio.io/inject";

export const annotations: Analyser = {
  name: "annotations.K8sAnalyzer",
  needsCluster: true,
  run(analysis) {
    for (const kind of ["Namespace", "Service", "Pod", "Deployment"] as const)
      for (const object of analysis.objects.kube(kind))
        for (const [name, value] of Object.entries(object.meta.annotations))
          checkAnnotation(analysis, object, kind, name, value);
  },
};

function checkAnnotation(
  { report }: Analysis,
  object: AnalysedObject,
  kind: KubeKind,
  name: string,
  value: string,
): void {
  const ours = name === "kubernetes.io/ingress.class" || (name.split("/")[0] ?? "").endsWith("istio.io");
  if (!ours || own.has(name)) return;
  const path = `metadata.annotations.${name}`;
  const kinds = known.get(name);
  if (!kinds) {
    report(object, "IST0108", `Unknown annotation: ${name}`, path);
    return;
  }
  if (deprecated.has(name) && !(name === inject && Object.hasOwn(object.meta.labels, inject))) {
    const instead = name === inject ? ` in favor of the "${inject}" label` : "";
    report(
      object,
      "IST0135",
      `Annotation ${JSON.stringify(name)} has been deprecated${instead} and may not work in future Istio versions.`,
      path,
    );
  }
  if (kinds.includes("Any")) return;
  if (!kinds.includes(kind)) {
    report(object, "IST0107", `Misplaced annotation: ${name} can only be applied to ${kinds.join(", ")}`, path);
    return;
  }
  const wrong = podAnnotationError(name, value);
  if (wrong) report(object, "IST0125", `Invalid annotation ${name}: ${wrong}`, path);
}
