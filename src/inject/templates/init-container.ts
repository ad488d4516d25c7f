/** A template's input in; the container out that sets up the capture of traffic, or with CNI checks that it is there. */
import { initImage } from "../image.ts";
import { annotationsOf, type Fields } from "../pod.ts";
import { annotation, hasAnnotation, interceptionOf, optional, statusPortOf, type TemplateInput } from "./input.ts";
import { metadataEnv } from "./proxy-env.ts";
import { logLevel, pullPolicy, resources } from "./shared.ts";

const traffic = (name: string): string => `traffic.sidecar.istio.io/${name}`;

export function initContainer(input: TemplateInput): Fields {
  const { values } = input;
  const env = metadataEnv(input);
  return {
    name: values.cni.enabled ? "istio-validation" : "istio-init",
    image: initImage(values, annotationsOf(input.pod)),
    args: captureArgs(input),
    ...pullPolicy(input),
    ...(env.length > 0 ? { env } : {}),
    ...optional("resources", resources(input)),
    securityContext: securityContext(input),
  };
}

function captureArgs(input: TemplateInput): readonly string[] {
  const { values, meshConfig } = input;
  const { proxy } = values;
  const excluded = excludedInboundPorts(input);
  const outbound = (flag: string, name: string, configured: string): readonly string[] =>
    hasAnnotation(input, traffic(name)) || configured !== ""
      ? [flag, annotation(input, traffic(name), configured)]
      : [];
  const text = (flag: string, name: string, configured: string): readonly string[] => [
    flag,
    annotation(input, traffic(name), configured),
  ];
  return [
    "istio-iptables",
    ...["-p", String(meshConfig.proxyListenPort || 15001)],
    ...["-z", String(meshConfig.proxyInboundListenPort || 15006)],
    ...["-u", String(interceptionOf(input) === "TPROXY" ? 1337 : input.proxyUser)],
    ...["-m", interceptionOf(input)],
    ...text("-i", "includeOutboundIPRanges", proxy.includeIpRanges),
    ...text("-x", "excludeOutboundIPRanges", proxy.excludeIpRanges),
    ...text("-b", "includeInboundPorts", proxy.includeInboundPorts),
    ...["-d", excluded === "" ? "15090,15021" : `15090,15021,${excluded}`],
    ...outbound("-q", "includeOutboundPorts", proxy.includeOutboundPorts),
    ...outbound("-o", "excludeOutboundPorts", proxy.excludeOutboundPorts),
    ...virtualInterfaces(input),
    ...outbound("-c", "excludeInterfaces", ""),
    logLevel(input),
    ...(values.logAsJson ? ["--log_as_json"] : []),
    ...(values.cni.enabled ? ["--run-validation", "--skip-rule-apply"] : []),
    ...(!values.cni.enabled && values.forceApplyIptables ? ["--force-apply"] : []),
    ...(values.nativeNftables ? ["--native-nftables"] : []),
  ];
}

function virtualInterfaces(input: TemplateInput): readonly string[] {
  const name = ["istio.io/reroute-virtual-interfaces", traffic("kubevirtInterfaces")].find((candidate) =>
    hasAnnotation(input, candidate),
  );
  return name === undefined ? [] : ["-k", annotation(input, name, "")];
}

/** The excluded ports, and the status port with them, which must stay reachable. */
export function excludedInboundPorts(input: TemplateInput): string {
  const given = annotation(input, traffic("excludeInboundPorts"), input.values.proxy.excludeInboundPorts);
  const status = statusPortOf(input).trim();
  const ports = given.split(",");
  if (status === "" || status === "0" || ports.includes(status)) return given;
  return [...ports.map((port) => port.trim()).filter((port) => port !== ""), status].join(",");
}

function securityContext(input: TemplateInput): Fields {
  const { privileged, seccompProfile } = input.values.proxy;
  const cni = input.values.cni.enabled;
  const tproxy = interceptionOf(input) === "TPROXY";
  const as = cni
    ? {
        readOnlyRootFilesystem: true,
        runAsGroup: tproxy ? 1337 : input.proxyGroup,
        runAsUser: tproxy ? 1337 : input.proxyUser,
        runAsNonRoot: true,
      }
    : { readOnlyRootFilesystem: false, runAsGroup: 0, runAsNonRoot: false, runAsUser: 0 };
  return {
    allowPrivilegeEscalation: privileged,
    privileged,
    capabilities: { ...(cni ? {} : { add: ["NET_ADMIN", "NET_RAW"] }), drop: ["ALL"] },
    ...as,
    ...optional("seccompProfile", seccompProfile),
  };
}
