/** Fields and kinds that are on their way out, conditions that say no, and CRDs that are too old. */
import { isRecord, readList, readRecord, readText } from "../../lib/index.ts";
import {
  authorizationPolicy,
  grpcRoute,
  httpRoute,
  type Kind,
  kubeGateway,
  serviceEntry,
  sidecar,
  virtualService,
  workloadEntry,
} from "../../model/index.ts";
import type { Analyser, Analysis } from "./analyser.ts";
import type { AnalysedObject } from "./objects.ts";

const removedKinds: ReadonlySet<string> = new Set([
  "ClusterRbacConfig",
  "RbacConfig",
  "ServiceRole",
  "ServiceRoleBinding",
]);

export const deprecatedFields: Analyser = {
  name: "deprecation.DeprecationAnalyzer",
  needsCluster: false,
  run({ objects, report }) {
    const deprecated = (object: AnalysedObject<unknown>, detail: string): void =>
      report(object, "IST0002", `Deprecated: ${detail}`);
    for (const object of objects.of(virtualService))
      for (const { fault } of object.spec.http ?? [])
        if ((fault?.delay?.percent ?? 0) > 0)
          deprecated(object, "HTTPRoute.fault.delay.percent is deprecated; use HTTPRoute.fault.delay.percentage");
    for (const object of objects.of(sidecar))
      if (object.spec.outboundTrafficPolicy?.egressProxy)
        deprecated(object, "OutboundTrafficPolicy.EgressProxy ignored");
    for (const object of objects.kube("CustomResourceDefinition")) {
      const { group, names } = readRecord(object.spec);
      const kind = readText(readRecord(names).kind);
      if (group === "rbac.istio.io" && removedKinds.has(kind))
        deprecated(object, `Custom resource type rbac.istio.io ${kind} is removed`);
    }
  },
};

const negative: ReadonlyMap<Kind, readonly string[]> = new Map<Kind, readonly string[]>([
  [serviceEntry, ["istio.io/WaypointBound"]],
  [workloadEntry, ["istio.io/WaypointBound"]],
  [authorizationPolicy, ["ZtunnelAccepted", "WaypointAccepted"]],
  [kubeGateway, ["Accepted", "Programmed", "ResolvedRefs"]],
  [httpRoute, ["Accepted", "Programmed", "ResolvedRefs"]],
  [grpcRoute, ["Accepted", "Programmed", "ResolvedRefs"]],
]);

export const conditions: Analyser = {
  name: "conditions.ConditionAnalyzer",
  needsCluster: true,
  run(analysis) {
    for (const object of analysis.objects.kube("Service"))
      checkConditions(analysis, object, ["istio.io/WaypointBound"]);
    for (const [kind, types] of negative)
      for (const object of analysis.objects.of(kind)) checkConditions(analysis, object, types);
  },
};

function checkConditions({ report }: Analysis, object: AnalysedObject<unknown>, types: readonly string[]): void {
  const status = readRecord(object.raw.status);
  const parents = readList(status.parents).flatMap((parent) => readList(readRecord(parent).conditions));
  for (const condition of [...readList(status.conditions), ...parents].filter(isRecord)) {
    const [type, reason] = [readText(condition.type), readText(condition.reason)];
    const refused = types.includes(type) && condition.status === "False";
    // True, and yet part of the policy is not in force.
    const partly =
      object.kind === "AuthorizationPolicy" && type === "WaypointAccepted" && reason === "PartiallyInvalid";
    const text = `A condition with a negative status is present: type=${type}, reason=${reason}, message=${readText(condition.message)}.`;
    if (refused) report(object, "IST0171", text);
    if (partly) report(object, "IST0171", text);
  }
}

/** Below these istiod does not look at the kind at all. */
const minimumVersions: ReadonlyMap<string, readonly number[]> = new Map([
  ["grpcroutes.gateway.networking.k8s.io", [1, 1, 0]],
  ["backendtlspolicies.gateway.networking.k8s.io", [1, 4, 0]],
  ["tlsroutes.gateway.networking.k8s.io", [1, 5, 0]],
  ["tcproutes.gateway.networking.k8s.io", [1, 6, 0]],
]);

export const crdVersions: Analyser = {
  name: "k8sgateway.CRDVersionAnalyzer",
  needsCluster: false,
  run({ objects, report }) {
    for (const object of objects.kube("CustomResourceDefinition")) {
      const minimum = minimumVersions.get(object.meta.name);
      const match = /^v?(\d+)\.(\d+)\.(\d+)(-[^+]*)?/.exec(
        object.meta.annotations["gateway.networking.k8s.io/bundle-version"] ?? "",
      );
      if (!minimum || !match) continue;
      const installed = match.slice(1, 4).map(Number);
      if (!isBelow(installed, minimum)) continue;
      const version = `${installed.join(".")}${match[4] ?? ""}`;
      report(
        object,
        "IST0176",
        `Gateway API CRD ${JSON.stringify(object.meta.name)} is at version ${JSON.stringify(version)} but Istio requires at least ${JSON.stringify(minimum.join("."))}; resources of this kind will not be processed. Upgrade the Gateway API CRDs to satisfy the minimum version.`,
      );
    }
  },
};

function isBelow(a: readonly number[], b: readonly number[]): boolean {
  for (const [i, part] of b.entries()) {
    const own = a[i] ?? 0;
    if (own !== part) return own < part;
  }
  return false;
}
