/** Capture settings in, the lines that `istio-iptables` logs out; tools and people read them by these words. */
import { printable } from "../../lib/index.ts";
import type { CaptureConfig } from "./config.ts";

/** Variables worth showing beside the settings that came of them. */
const shownVariables = [
  "ENVOY_PORT",
  "INBOUND_CAPTURE_PORT",
  "ISTIO_INBOUND_INTERCEPTION_MODE",
  "ISTIO_INBOUND_TPROXY_ROUTE_TABLE",
  "ISTIO_INBOUND_PORTS",
  "ISTIO_OUTBOUND_PORTS",
  "ISTIO_LOCAL_EXCLUDE_PORTS",
  "ISTIO_EXCLUDE_INTERFACES",
  "ISTIO_SERVICE_CIDR",
  "ISTIO_SERVICE_EXCLUDE_CIDR",
  "ISTIO_META_DNS_CAPTURE",
  "INVALID_DROP",
];

export function describeEnvironment(env: Readonly<Record<string, string | undefined>>): string {
  return `Istio iptables environment:\n${shownVariables.map((name) => `${name}=${env[name] ?? ""}\n`).join("")}`;
}

export function describeConfig(c: CaptureConfig): string {
  const shown: readonly (readonly [string, string | boolean])[] = [
    ["PROXY_PORT", c.proxyPort],
    ["PROXY_INBOUND_CAPTURE_PORT", c.inboundCapturePort],
    ["PROXY_TUNNEL_PORT", c.inboundTunnelPort],
    ["PROXY_UID", c.proxyUid],
    ["PROXY_GID", c.proxyGid],
    ["INBOUND_INTERCEPTION_MODE", c.inboundInterceptionMode],
    ["INBOUND_TPROXY_MARK", c.inboundTproxyMark],
    ["INBOUND_TPROXY_ROUTE_TABLE", c.inboundTproxyRouteTable],
    ["INBOUND_PORTS_INCLUDE", c.inboundPortsInclude],
    ["INBOUND_PORTS_EXCLUDE", c.inboundPortsExclude],
    ["OUTBOUND_OWNER_GROUPS_INCLUDE", c.ownerGroupsInclude],
    ["OUTBOUND_OWNER_GROUPS_EXCLUDE", c.ownerGroupsExclude],
    ["OUTBOUND_IP_RANGES_INCLUDE", c.outboundIpRangesInclude],
    ["OUTBOUND_IP_RANGES_EXCLUDE", c.outboundIpRangesExclude],
    ["OUTBOUND_PORTS_INCLUDE", c.outboundPortsInclude],
    ["OUTBOUND_PORTS_EXCLUDE", c.outboundPortsExclude],
    ["KUBE_VIRT_INTERFACES", c.rerouteVirtualInterfaces],
    ["ENABLE_INBOUND_IPV6", c.enableIpv6],
    ["DUAL_STACK", c.dualStack],
    ["DNS_CAPTURE", c.redirectDns],
    ["DROP_INVALID", c.dropInvalid],
    ["CAPTURE_ALL_DNS", c.captureAllDns],
    ["DNS_SERVERS", `[${c.dnsServersV4.join(" ")}],[${c.dnsServersV6.join(" ")}]`],
    ["NETWORK_NAMESPACE", c.networkNamespace],
    ["CNI_MODE", c.cniMode],
    ["EXCLUDE_INTERFACES", c.excludeInterfaces],
    ["RECONCILE", c.reconcile],
    ["CLEANUP_ONLY", c.cleanupOnly],
    ["FORCE_APPLY", c.forceApply],
    ["NATIVE_NFTABLES", c.nativeNftables],
    ["FORCE_IPTABLES_BINARY", c.forceIptablesBinary],
  ];
  return `Istio config:\n${shown.map(([name, value]) => `${name}=${value}\n`).join("")}`;
}

/** One record as istio-iptables logs it: its line breaks are kept, because the input of iptables-restore is read from them. */
export function formatCaptureRecord(time: Date, level: "info" | "warn" | "error", message: string): string {
  const lines = message.split("\n").map(printable).join("\n");
  return `${time.toISOString()}\t${level}\t${lines}\n`;
}
