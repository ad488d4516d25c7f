/** AuthorizationPolicies, RequestAuthentications and their like against the workloads they are meant for. */
import { readList, readRecord, readText } from "../../lib/index.ts";
import {
  authorizationPolicy,
  matchesLabels,
  requestAuthentication,
  telemetry,
  type WorkloadSelector,
  wasmPlugin,
} from "../../model/index.ts";
import { type Analyser, type Analysis, notFound } from "./analyser.ts";
import { type AnalysedObject, selectorText } from "./objects.ts";
import { inMesh, isAmbientPod } from "./workload.ts";

export const authorizationPolicies: Analyser = {
  name: "auth.AuthorizationPoliciesAnalyzer",
  needsCluster: true,
  run(analysis) {
    const pods = analysis.objects
      .kube("Pod")
      .filter((pod) => inMesh(analysis.objects, { ...pod.meta, spec: pod.spec }) || isAmbientPod(pod));
    for (const policy of analysis.objects.of(authorizationPolicy)) {
      checkSelected(analysis, policy, policy.spec.selector, pods);
      checkNamespaces(analysis, policy);
    }
  },
};

function checkSelected(
  { mesh, report }: Analysis,
  policy: AnalysedObject<unknown>,
  selector: WorkloadSelector | undefined,
  pods: readonly AnalysedObject[],
): void {
  const { namespace } = policy.meta;
  const meshWide = namespace === mesh.rootNamespace;
  // For everybody: then nobody can be missed.
  if (meshWide && !selector) return;
  const labels = selector?.matchLabels ?? {};
  const found = pods.some(
    (pod) => (meshWide || pod.meta.namespace === namespace) && matchesLabels(labels, pod.meta.labels),
  );
  if (!found)
    report(
      policy,
      "IST0127",
      `No matching workloads for this resource with the following labels: ${selectorText(labels)}`,
    );
}

function checkNamespaces(
  { objects, report }: Analysis,
  policy: ReturnType<typeof objects.of<typeof authorizationPolicy>>[number],
): void {
  const names = objects.kube("Namespace").map(({ meta }) => meta.name);
  policy.spec.rules?.forEach(({ from = [] }, i) => {
    from.forEach(({ source = {} }, j) => {
      const { namespaces = [], notNamespaces = [] } = source;
      [...namespaces, ...notNamespaces].forEach((pattern, k) => {
        const at = k >= namespaces.length ? k - namespaces.length : k;
        if (!names.some((name) => matchesNamespace(pattern, name)))
          report(
            policy,
            "IST0101",
            notFound("namespace", pattern),
            `spec.rules[${i}].from[${j}].source.namespaces[${at}]`,
          );
      });
    });
  });
}

function matchesNamespace(pattern: string, name: string): boolean {
  if (pattern === "*") return true;
  if (pattern.startsWith("*")) return name.endsWith(pattern.slice(1));
  if (pattern.endsWith("*")) return name.startsWith(pattern.slice(0, -1));
  return name.toLowerCase() === pattern.toLowerCase();
}

/** Pods of the Gateway API's gateways are reached by reference only. */
export const gatewaySelectors: Analyser = {
  name: "k8sgateway.SelectorAnalyzer",
  needsCluster: true,
  run({ objects, report }) {
    const name = "gateway.networking.k8s.io/gateway-name";
    const pods = objects.kube("Pod").filter(({ meta }) => Object.hasOwn(meta.labels, name));
    for (const kind of [authorizationPolicy, requestAuthentication, telemetry, wasmPlugin])
      for (const policy of objects.of(kind)) {
        const { selector, targetRef } = policy.spec;
        if (!selector || targetRef) continue;
        for (const { meta } of pods)
          if (meta.namespace === policy.meta.namespace && matchesLabels(selector.matchLabels ?? {}, meta.labels))
            report(
              policy,
              "IST0166",
              `Ineffective selector on Kubernetes Gateway ${meta.labels[name] ?? ""}. Use the TargetRef field instead.`,
            );
      }
  },
};

export const blockedCidrs: Analyser = {
  name: "authn.BlockedCIDRsAnalyzer",
  needsCluster: false,
  run({ objects, report }) {
    const names = objects.of(requestAuthentication).map(({ fullName }) => fullName);
    if (names.length === 0) return;
    const shown =
      names.length <= 5 ? names.join(", ") : `${names.slice(0, 5).join(", ")}, and ${names.length - 5} more`;
    for (const deployment of objects.kube("Deployment")) {
      if (deployment.meta.labels.app !== "istiod" || restrictsFetches(deployment)) continue;
      report(
        deployment,
        "IST0175",
        `BLOCKED_CIDRS_IN_JWKS_URIS is not configured but ${names.length} RequestAuthentication resource(s) exist (${shown}). Consider configuring it to restrict JWKS URI fetches to trusted networks.`,
      );
    }
  },
};

function restrictsFetches({ spec }: AnalysedObject): boolean {
  const containers = readList(readRecord(readRecord(readRecord(spec).template).spec).containers);
  return containers
    .flatMap((container) => readList(readRecord(container).env))
    .map(readRecord)
    .some((variable) => variable.name === "BLOCKED_CIDRS_IN_JWKS_URIS" && readText(variable.value) !== "");
}
