/** Istio's annotations on Kubernetes' objects: unknown, on the wrong kind, on their way out, or with a value that is none. */
import { parsePrefix } from "../../lib/index.ts";
import { mergeProxyConfig } from "../../model/index.ts";
import { decodeProxyConfig } from "../decode.ts";
import { checkProxyValues } from "../validate/proxy-values.ts";
import { createReport } from "../validate/report.ts";
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
  ...forKinds(
    ["Pod"],
    "ambient.istio.io/bypass-inbound-capture ambient.istio.io/dns-capture ambient.istio.io/redirection inject.istio.io/templates istio.io/reroute-virtual-interfaces istio.io/rev prometheus.istio.io/merge-metrics proxy.istio.io/config proxy.istio.io/overrides readiness.status.sidecar.istio.io/applicationPorts readiness.status.sidecar.istio.io/failureThreshold readiness.status.sidecar.istio.io/initialDelaySeconds readiness.status.sidecar.istio.io/periodSeconds sidecar.istio.io/agentLogLevel sidecar.istio.io/bootstrapOverride sidecar.istio.io/componentLogLevel sidecar.istio.io/discoveryAddress sidecar.istio.io/extraStatTags sidecar.istio.io/inject sidecar.istio.io/interceptionMode sidecar.istio.io/logLevel sidecar.istio.io/nativeSidecar sidecar.istio.io/proxyCPU sidecar.istio.io/proxyCPULimit sidecar.istio.io/proxyImage sidecar.istio.io/proxyImageType sidecar.istio.io/proxyMemory sidecar.istio.io/proxyMemoryLimit sidecar.istio.io/rewriteAppHTTPProbers sidecar.istio.io/statsCompression sidecar.istio.io/statsEvictionInterval sidecar.istio.io/statsFlushInterval sidecar.istio.io/statsHistogramBins sidecar.istio.io/statsHistogramBuckets sidecar.istio.io/statsInclusionPrefixes sidecar.istio.io/statsInclusionRegexps sidecar.istio.io/statsInclusionSuffixes sidecar.istio.io/status sidecar.istio.io/userVolume sidecar.istio.io/userVolumeMount status.sidecar.istio.io/port traffic.sidecar.istio.io/excludeInboundPorts traffic.sidecar.istio.io/excludeInterfaces traffic.sidecar.istio.io/excludeOutboundIPRanges traffic.sidecar.istio.io/excludeOutboundPorts traffic.sidecar.istio.io/includeInboundPorts traffic.sidecar.istio.io/includeOutboundIPRanges traffic.sidecar.istio.io/includeOutboundPorts traffic.sidecar.istio.io/kubevirtInterfaces",
  ),
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
  const wrong = valueChecks.get(name)?.(value);
  if (wrong) report(object, "IST0125", `Invalid annotation ${name}: ${wrong}`, path);
}

type ValueCheck = (value: string) => string | undefined;

function uintError(value: string, bits: number): string | undefined {
  const fail = (why: string): string => `strconv.ParseUint: parsing ${JSON.stringify(value)}: ${why}`;
  if (!/^\d+$/.test(value)) return fail("invalid syntax");
  return Number(value) >= 2 ** bits ? fail("value out of range") : undefined;
}

const portError: ValueCheck = (port) => {
  const wrong = uintError(port.trim(), 16);
  return wrong === undefined ? undefined : `failed parsing port '${port}': ${wrong}`;
};

const portList =
  (what: string, star: boolean): ValueCheck =>
  (value) => {
    if ((star && value === "*") || value.trim() === "") return undefined;
    const bad = value
      .trim()
      .split(",")
      .find((port) => portError(port));
    return bad === undefined ? undefined : `${what} invalid: failed parsing port '${bad}': ${portError(bad)}`;
  };

const rangeList =
  (what: string, star: boolean): ValueCheck =>
  (value) => {
    if ((star && value === "*") || value === "") return undefined;
    for (const range of value.split(",")) {
      const prefix = parsePrefix(range);
      if ("error" in prefix) return `${what} invalid: failed parsing cidr '${range}': ${prefix.error}`;
    }
    return undefined;
  };

const uint32: ValueCheck = (value) => uintError(value, 32);

const boolean_: ValueCheck = (value) =>
  /^(1|t|T|TRUE|true|True|0|f|F|FALSE|false|False)$/.test(value)
    ? undefined
    : `strconv.ParseBool: parsing ${JSON.stringify(value)}: invalid syntax`;

const quantity: ValueCheck = (value) => {
  if (/\p{Cc}/u.test(value)) return "value contains control characters";
  return /^[+-]?(\d+\.?\d*|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$/.test(value)
    ? undefined
    : "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
};

const proxyConfigValue: ValueCheck = (value) => {
  const { ok, problems } = decodeProxyConfig(value);
  if (!ok) return `failed to convert to apply proxy config: ${problems.at(-1)?.message ?? ""}`;
  const { report, errors } = createReport("ProxyConfig", "");
  checkProxyValues(report, mergeProxyConfig(ok));
  return errors[0]?.message;
};

const valueChecks: ReadonlyMap<string, ValueCheck> = new Map([
  [
    "sidecar.istio.io/interceptionMode",
    (value) =>
      ["REDIRECT", "TPROXY", "NONE"].includes(value)
        ? undefined
        : `interceptionMode invalid, use REDIRECT,TPROXY,NONE: ${value}`,
  ],
  [
    "status.sidecar.istio.io/port",
    (value) => (portError(value) ? `excludeInboundPorts invalid: ${portError(value)}` : undefined),
  ],
  ["readiness.status.sidecar.istio.io/initialDelaySeconds", uint32],
  ["readiness.status.sidecar.istio.io/periodSeconds", uint32],
  ["readiness.status.sidecar.istio.io/failureThreshold", uint32],
  ["traffic.sidecar.istio.io/includeOutboundIPRanges", rangeList("includeIPRanges", true)],
  ["traffic.sidecar.istio.io/excludeOutboundIPRanges", rangeList("excludeIPRanges", false)],
  ["traffic.sidecar.istio.io/includeInboundPorts", portList("includeInboundPorts", true)],
  ["traffic.sidecar.istio.io/excludeInboundPorts", portList("excludeInboundPorts", false)],
  ["traffic.sidecar.istio.io/excludeOutboundPorts", portList("excludeOutboundPorts", false)],
  ["prometheus.istio.io/merge-metrics", boolean_],
  ["proxy.istio.io/config", proxyConfigValue],
  ["sidecar.istio.io/proxyCPU", quantity],
  ["sidecar.istio.io/proxyMemory", quantity],
  ["sidecar.istio.io/proxyCPULimit", quantity],
  ["sidecar.istio.io/proxyMemoryLimit", quantity],
] as readonly (readonly [string, ValueCheck])[]);
