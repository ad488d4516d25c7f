/** What capture rules are made from: istio-iptables' settings, with its names and defaults. Values stay text, as they go into rules. */
import { FairleadError, parsePrefix } from "../../lib/index.ts";

export interface CaptureConfig {
  readonly proxyPort: string;
  readonly inboundCapturePort: string;
  readonly inboundTunnelPort: string;
  readonly proxyUid: string;
  readonly proxyGid: string;
  readonly inboundInterceptionMode: string;
  readonly inboundTproxyMark: string;
  readonly inboundTproxyRouteTable: string;
  readonly inboundPortsInclude: string;
  readonly inboundPortsExclude: string;
  readonly ownerGroupsInclude: string;
  readonly ownerGroupsExclude: string;
  readonly outboundPortsInclude: string;
  readonly outboundPortsExclude: string;
  readonly outboundIpRangesInclude: string;
  readonly outboundIpRangesExclude: string;
  readonly rerouteVirtualInterfaces: string;
  readonly excludeInterfaces: string;
  readonly dryRun: boolean;
  readonly skipRuleApply: boolean;
  readonly runValidation: boolean;
  /** What is called to see whether it is captured; nobody may listen there. */
  readonly probePort: string;
  readonly probeTimeout: string;
  readonly redirectDns: boolean;
  readonly dropInvalid: boolean;
  readonly captureAllDns: boolean;
  readonly enableIpv6: boolean;
  readonly dnsServersV4: readonly string[];
  readonly dnsServersV6: readonly string[];
  readonly networkNamespace: string;
  readonly cniMode: boolean;
  readonly dualStack: boolean;
  readonly hostIpv4LoopbackCidr: string;
  readonly reconcile: boolean;
  readonly cleanupOnly: boolean;
  readonly forceApply: boolean;
  readonly nativeNftables: boolean;
  readonly forceIptablesBinary: string;
}

export const defaultCapture: CaptureConfig = {
  proxyPort: "15001",
  inboundCapturePort: "15006",
  inboundTunnelPort: "15008",
  proxyUid: "",
  proxyGid: "",
  inboundInterceptionMode: "",
  inboundTproxyMark: "1337",
  inboundTproxyRouteTable: "133",
  inboundPortsInclude: "",
  inboundPortsExclude: "",
  ownerGroupsInclude: "*",
  ownerGroupsExclude: "",
  outboundPortsInclude: "",
  outboundPortsExclude: "",
  outboundIpRangesInclude: "",
  outboundIpRangesExclude: "",
  rerouteVirtualInterfaces: "",
  excludeInterfaces: "",
  dryRun: false,
  skipRuleApply: false,
  runValidation: false,
  probePort: "15002",
  probeTimeout: "5s",
  redirectDns: false,
  dropInvalid: false,
  captureAllDns: false,
  enableIpv6: false,
  dnsServersV4: [],
  dnsServersV6: [],
  networkNamespace: "",
  cniMode: false,
  dualStack: false,
  hostIpv4LoopbackCidr: "127.0.0.1/32",
  reconcile: false,
  cleanupOnly: false,
  forceApply: false,
  nativeNftables: false,
  forceIptablesBinary: "",
};

/** All included groups go into one rule, which the kernel bounds; Istio's limit. */
const maxOwnerGroups = 64;

/** A comma-separated list as istio-iptables reads it: empty items are left out, spaces stay. */
export function splitList(text: string): readonly string[] {
  return text.split(",").filter((item) => item !== "");
}

/** Throws `invalid` for settings that istio-iptables refuses before it makes any rule. */
export function checkCapture(config: CaptureConfig): void {
  const groups = config.ownerGroupsInclude === "*" ? [] : splitList(config.ownerGroupsInclude);
  if (groups.length > maxOwnerGroups)
    throw refused(
      `number of owner groups whose outgoing traffic should be redirected to Envoy cannot exceed ${maxOwnerGroups}, got ${groups.length}: [${groups.join(" ")}]`,
    );
  if (!["", "legacy", "nft"].includes(config.forceIptablesBinary))
    throw refused(`invalid FORCE_IPTABLES_BINARY value ${JSON.stringify(config.forceIptablesBinary)}`);
  validateLoopback(config.hostIpv4LoopbackCidr);
  // A line break in a value would become a rule of its own.
  for (const [name, value] of Object.entries(config))
    if (typeof value === "string" && /[\r\n\0]/.test(value)) throw refused(`${name} has a line break in it`);
}

function validateLoopback(cidr: string): void {
  const prefix = parsePrefix(cidr);
  if ("error" in prefix) throw refused(`failed to parse CIDR ${cidr}: ${prefix.error}`);
  if (prefix.family !== 4 || prefix.address[0] !== 127)
    throw refused(
      `expected valid IPv4 loopback address in CIDR ${cidr}; found ${cidr.slice(0, cidr.lastIndexOf("/"))}`,
    );
  if (prefix.bits < 8) throw refused(`expected CIDR ${cidr} to have mask in range [8, 32]; found ${prefix.bits}`);
}

function refused(message: string): FairleadError {
  return new FairleadError("invalid", message);
}
