/** Istio's annotations on Pods: which there are, and for a value what is wrong with it, in istioctl's words. */
import { nearest, parsePrefix } from "../lib/index.ts";
import { canonicalQuantity, mergeProxyConfig } from "../model/index.ts";
import { decodeProxyConfig } from "./decode.ts";
import { checkProxyValues } from "./validate/proxy-values.ts";
import { createReport } from "./validate/report.ts";

export const podAnnotations: readonly string[] = [
  "ambient.istio.io/bypass-inbound-capture",
  "ambient.istio.io/dns-capture",
  "ambient.istio.io/redirection",
  "inject.istio.io/templates",
  "istio.io/reroute-virtual-interfaces",
  "istio.io/rev",
  "prometheus.istio.io/merge-metrics",
  "proxy.istio.io/config",
  "proxy.istio.io/overrides",
  "readiness.status.sidecar.istio.io/applicationPorts",
  "readiness.status.sidecar.istio.io/failureThreshold",
  "readiness.status.sidecar.istio.io/initialDelaySeconds",
  "readiness.status.sidecar.istio.io/periodSeconds",
  "sidecar.istio.io/agentLogLevel",
  "sidecar.istio.io/bootstrapOverride",
  "sidecar.istio.io/componentLogLevel",
  "sidecar.istio.io/discoveryAddress",
  "sidecar.istio.io/extraStatTags",
  "sidecar.istio.io/inject",
  "sidecar.istio.io/interceptionMode",
  "sidecar.istio.io/logLevel",
  "sidecar.istio.io/nativeSidecar",
  "sidecar.istio.io/proxyCPU",
  "sidecar.istio.io/proxyCPULimit",
  "sidecar.istio.io/proxyImage",
  "sidecar.istio.io/proxyImageType",
  "sidecar.istio.io/proxyMemory",
  "sidecar.istio.io/proxyMemoryLimit",
  "sidecar.istio.io/rewriteAppHTTPProbers",
  "sidecar.istio.io/statsCompression",
  "sidecar.istio.io/statsEvictionInterval",
  "sidecar.istio.io/statsFlushInterval",
  "sidecar.istio.io/statsHistogramBins",
  "sidecar.istio.io/statsHistogramBuckets",
  "sidecar.istio.io/statsInclusionPrefixes",
  "sidecar.istio.io/statsInclusionRegexps",
  "sidecar.istio.io/statsInclusionSuffixes",
  "sidecar.istio.io/status",
  "sidecar.istio.io/userVolume",
  "sidecar.istio.io/userVolumeMount",
  "status.sidecar.istio.io/port",
  "traffic.sidecar.istio.io/excludeInboundPorts",
  "traffic.sidecar.istio.io/excludeInterfaces",
  "traffic.sidecar.istio.io/excludeOutboundIPRanges",
  "traffic.sidecar.istio.io/excludeOutboundPorts",
  "traffic.sidecar.istio.io/includeInboundPorts",
  "traffic.sidecar.istio.io/includeOutboundIPRanges",
  "traffic.sidecar.istio.io/includeOutboundPorts",
  "traffic.sidecar.istio.io/kubevirtInterfaces",
];

/** Read by injection, or once were: an annotation that older versions knew is no slip. */
const further = [
  "prometheus.istio.io/scrape-targets",
  "prometheus.istio.io/secure-port",
  "sidecar.istio.io/capNetBindService",
  "sidecar.istio.io/controlPlaneAuthPolicy",
  "sidecar.istio.io/enableCoreDump",
];
const known: ReadonlySet<string> = new Set([...podAnnotations, ...further]);
const prefixes: ReadonlySet<string> = new Set([
  "inject.istio.io",
  "prometheus.istio.io",
  "proxy.istio.io",
  "readiness.status.sidecar.istio.io",
  "sidecar.istio.io",
  "status.sidecar.istio.io",
  "traffic.sidecar.istio.io",
]);

/** For a name in one of injection's own prefixes that nothing reads: a sentence about it, with the name that was meant. */
export function unknownPodAnnotation(name: string): string | undefined {
  if (!prefixes.has(name.split("/")[0] ?? "") || known.has(name)) return undefined;
  const meant = nearest(name, known);
  return `unknown annotation '${name}'${meant === undefined ? "" : `; did you mean '${meant}'?`}`;
}

/** Undefined where nothing is wrong, also for annotations that are not Istio's. */
export function podAnnotationError(name: string, value: string): string | undefined {
  return valueChecks.get(name)?.(value);
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
  return canonicalQuantity(value) !== undefined
    ? undefined
    : "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
};

const interfaces: ValueCheck = (value) => {
  if (value === "") return undefined;
  for (const name of value.split(",").map((part) => part.trim())) {
    if (name === "") return "empty interface name";
    if (name.length > 15) return `interface name ${JSON.stringify(name)} too long (max 15 chars)`;
    if (!/^[a-zA-Z][a-zA-Z0-9_.-]*$/.test(name))
      return `interface name ${JSON.stringify(name)} contains invalid characters`;
  }
  return undefined;
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
  ["traffic.sidecar.istio.io/excludeInterfaces", interfaces],
  ["traffic.sidecar.istio.io/kubevirtInterfaces", interfaces],
  ["istio.io/reroute-virtual-interfaces", interfaces],
  ["prometheus.istio.io/merge-metrics", boolean_],
  ["proxy.istio.io/config", proxyConfigValue],
  ["sidecar.istio.io/proxyCPU", quantity],
  ["sidecar.istio.io/proxyMemory", quantity],
  ["sidecar.istio.io/proxyCPULimit", quantity],
  ["sidecar.istio.io/proxyMemoryLimit", quantity],
] as readonly (readonly [string, ValueCheck])[]);
