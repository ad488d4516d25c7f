/** With CNI the capture is set up from outside the Pod: the annotations out that tell the plugin how. */
import { isRecord, parseJson } from "../../lib/index.ts";
import { annotationsOf, type Fields } from "../pod.ts";
import { excludedInboundPorts } from "./init-container.ts";
import { annotation, hasAnnotation, interceptionOf, optional, type TemplateInput } from "./input.ts";

const traffic = (name: string): string => `traffic.sidecar.istio.io/${name}`;
const networks = "k8s.v1.cni.cncf.io/networks";

export function cniAnnotations(input: TemplateInput): Fields {
  const { cni, proxy } = input.values;
  if (!cni.enabled) return {};
  const given = annotationsOf(input.pod);
  const ranges = (name: string, configured: string): Fields =>
    optional(traffic(name), annotation(input, traffic(name), configured));
  const ports = (name: string, configured: string): Fields =>
    hasAnnotation(input, traffic(name)) || configured !== ""
      ? { [traffic(name)]: annotation(input, traffic(name), configured) }
      : {};
  return {
    ...(cni.provider === "multus" ? { [networks]: withNetwork(given[networks] ?? "") } : {}),
    "sidecar.istio.io/interceptionMode": interceptionOf(input),
    ...ranges("includeOutboundIPRanges", proxy.includeIpRanges),
    ...ranges("excludeOutboundIPRanges", proxy.excludeIpRanges),
    [traffic("includeInboundPorts")]: annotation(input, traffic("includeInboundPorts"), proxy.includeInboundPorts),
    [traffic("excludeInboundPorts")]: excludedInboundPorts(input),
    ...ports("includeOutboundPorts", proxy.includeOutboundPorts),
    ...ports("excludeOutboundPorts", proxy.excludeOutboundPorts),
    ...optional(traffic("kubevirtInterfaces"), given[traffic("kubevirtInterfaces")]),
    ...optional("istio.io/reroute-virtual-interfaces", given["istio.io/reroute-virtual-interfaces"]),
    ...optional(traffic("excludeInterfaces"), given[traffic("excludeInterfaces")]),
  };
}

const [cniNamespace, cniName] = ["default", "istio-cni"];

/** Multus' list of networks, in either of its two forms, with Istio's network in it once. */
function withNetwork(existing: string): string {
  const ours = `${cniNamespace}/${cniName}`;
  if (existing === "") return ours;
  const end = existing.lastIndexOf("]");
  if (end < 0) return existing.split(",").some((name) => name.trim() === ours) ? existing : `${existing}, ${ours}`;
  const list = jsonList(existing);
  const there = list?.some(({ name, namespace }) => name === cniName && namespace === cniNamespace);
  if (!list || there) return existing;
  return `${existing.slice(0, end)}, {"name": "${cniName}", "namespace": "${cniNamespace}"}${existing.slice(end)}`;
}

function jsonList(text: string): readonly Fields[] | undefined {
  try {
    const parsed = parseJson(text);
    return Array.isArray(parsed) ? parsed.filter(isRecord) : undefined;
  } catch {
    return undefined;
  }
}
