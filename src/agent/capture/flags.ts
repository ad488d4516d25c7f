/** istio-iptables' flags, environment and surroundings in, capture settings out. */
import { FairleadError, formatIp, parseDuration, parseIp } from "../../lib/index.ts";
import { type CaptureConfig, defaultCapture } from "./config.ts";

/** What istio-iptables looks up on the machine; handed in. */
export interface CaptureSurroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Addresses of all interfaces, IPv4 before IPv6. */
  readonly addresses: readonly string[];
  /** Nameservers of resolv.conf; throws where it cannot be read. */
  readonly nameservers: () => readonly string[];
  /** The numeric id of a user. */
  readonly userId: (name: string) => string | undefined;
}

interface Flag {
  readonly name: string;
  readonly short?: string;
  /** The setting it becomes; flags without one are accepted for the sake of callers. */
  readonly key?: keyof CaptureConfig;
  readonly kind: "text" | "bool" | "port" | "duration";
  /** Further variables, each beating the one before. */
  readonly env?: readonly string[];
}

const flags: readonly Flag[] = [
  // Alone among the flags this one has no variable of its own in Istio.
  { name: "envoy-port", short: "p", key: "proxyPort", kind: "text", env: [] },
  { name: "inbound-capture-port", short: "z", key: "inboundCapturePort", kind: "text" },
  { name: "inbound-tunnel-port", short: "e", key: "inboundTunnelPort", kind: "text" },
  { name: "proxy-uid", short: "u", key: "proxyUid", kind: "text" },
  { name: "proxy-gid", short: "g", key: "proxyGid", kind: "text" },
  { name: "istio-inbound-interception-mode", short: "m", key: "inboundInterceptionMode", kind: "text" },
  { name: "istio-inbound-ports", short: "b", key: "inboundPortsInclude", kind: "text" },
  { name: "istio-local-exclude-ports", short: "d", key: "inboundPortsExclude", kind: "text" },
  { name: "istio-exclude-interfaces", short: "c", key: "excludeInterfaces", kind: "text" },
  { name: "istio-service-cidr", short: "i", key: "outboundIpRangesInclude", kind: "text" },
  { name: "istio-service-exclude-cidr", short: "x", key: "outboundIpRangesExclude", kind: "text" },
  { name: "istio-outbound-ports", short: "q", key: "outboundPortsInclude", kind: "text" },
  { name: "istio-local-outbound-ports-exclude", short: "o", key: "outboundPortsExclude", kind: "text" },
  { name: "kube-virt-interfaces", short: "k", key: "rerouteVirtualInterfaces", kind: "text" },
  { name: "istio-inbound-tproxy-mark", short: "t", key: "inboundTproxyMark", kind: "text" },
  { name: "istio-inbound-tproxy-route-table", short: "r", key: "inboundTproxyRouteTable", kind: "text" },
  { name: "dry-run", short: "n", key: "dryRun", kind: "bool" },
  { name: "iptables-probe-port", key: "probePort", kind: "port" },
  { name: "probe-timeout", key: "probeTimeout", kind: "duration" },
  { name: "skip-rule-apply", key: "skipRuleApply", kind: "bool" },
  { name: "run-validation", key: "runValidation", kind: "bool" },
  { name: "redirect-dns", key: "redirectDns", kind: "bool", env: ["REDIRECT_DNS", "ISTIO_META_DNS_CAPTURE"] },
  { name: "drop-invalid", key: "dropInvalid", kind: "bool", env: ["DROP_INVALID", "INVALID_DROP"] },
  { name: "dual-stack", key: "dualStack", kind: "bool", env: ["DUAL_STACK", "ISTIO_DUAL_STACK"] },
  { name: "capture-all-dns", key: "captureAllDns", kind: "bool" },
  { name: "network-namespace", key: "networkNamespace", kind: "text" },
  { name: "cni-mode", key: "cniMode", kind: "bool" },
  { name: "reconcile", key: "reconcile", kind: "bool" },
  { name: "cleanup-only", key: "cleanupOnly", kind: "bool" },
  // The same in one word, which Istio does not have.
  { name: "cleanup", key: "cleanupOnly", kind: "bool", env: [] },
  { name: "force-apply", key: "forceApply", kind: "bool" },
  { name: "native-nftables", key: "nativeNftables", kind: "bool" },
  { name: "force-iptables-binary", key: "forceIptablesBinary", kind: "text" },
];

/** Log flags that pilot-agent's root command lends to every command. */
const rootFlags: readonly Flag[] = [
  "log_as_json",
  "log_caller",
  "log_output_level",
  "log_stacktrace_level",
  "log_target",
  "vklog",
].map((name) => ({ name, kind: name === "log_as_json" ? "bool" : "text" }));

/** Throws `usage` for a command line that cannot be read, `invalid` where the surroundings are not fit for capture. */
export function parseCaptureFlags(argv: readonly string[], around: CaptureSurroundings): CaptureConfig {
  const values: Record<string, string | boolean> = {};
  for (const flag of flags) Object.assign(values, fromEnvironment(flag, around.env));
  Object.assign(values, fromArguments(argv));
  return withSurroundings({ ...defaultCapture, ...values }, around);
}

function fromEnvironment(flag: Flag, env: CaptureSurroundings["env"]): Record<string, string | boolean> {
  const names = flag.env ?? [flag.name.toUpperCase().replaceAll("-", "_")];
  const [value] = names
    .map((name) => env[name])
    .filter((found) => found !== undefined)
    .slice(-1);
  if (flag.key === undefined || value === undefined) return {};
  return { [flag.key]: flag.kind === "bool" ? (parseBool(value) ?? false) : value };
}

/** pflag's reading: `--name value`, `--name=value`, `-n value`, `-nvalue`, `-n=value`, grouped short switches, `--`. */
function fromArguments(argv: readonly string[]): Record<string, string | boolean> {
  const values: Record<string, string | boolean> = {};
  const rest = [...argv];
  const set = (flag: Flag, label: string, inline: string | undefined): void => {
    const text = inline ?? (flag.kind === "bool" ? "true" : rest.shift());
    if (text === undefined) throw usage(`flag needs an argument: ${label}`);
    const value = convert(flag, text);
    if (value === undefined) throw usage(`invalid argument ${JSON.stringify(text)} for ${JSON.stringify(label)} flag`);
    if (flag.key !== undefined) values[flag.key] = value;
  };
  for (let word = rest.shift(); word !== undefined && word !== "--"; word = rest.shift()) {
    if (word.startsWith("--")) {
      const [name = "", inline] = splitOnce(word.slice(2));
      const flag = [...flags, ...rootFlags].find((known) => known.name === name);
      if (!flag) throw usage(`unknown flag: --${name}`);
      set(flag, `--${name}`, inline);
    } else if (word.startsWith("-") && word.length > 1) setShort(word.slice(1), set);
  }
  return values;
}

function setShort(letters: string, set: (flag: Flag, label: string, inline: string | undefined) => void): void {
  for (let at = 0; at < letters.length; at++) {
    const letter = letters.charAt(at);
    const flag = flags.find((known) => known.short === letter);
    if (!flag) throw usage(`unknown shorthand flag: '${letter}' in -${letters}`);
    const tail = letters.slice(at + 1);
    const valued = tail.startsWith("=") || flag.kind !== "bool";
    const inline = tail.startsWith("=") ? tail.slice(1) : tail;
    set(flag, `-${letter}`, valued && tail !== "" ? inline : undefined);
    if (valued) return;
  }
}

function convert(flag: Flag, text: string): string | boolean | undefined {
  if (flag.kind === "bool") return parseBool(text);
  if (flag.kind === "port") return /^\d{1,5}$/.test(text) && Number(text) < 65_536 ? text : undefined;
  if (flag.kind === "duration") return parseDuration(text) === undefined ? undefined : text;
  return text;
}

/** Go's strconv.ParseBool. */
function parseBool(text: string): boolean | undefined {
  if (["1", "t", "T", "true", "TRUE", "True"].includes(text)) return true;
  return ["0", "f", "F", "false", "FALSE", "False"].includes(text) ? false : undefined;
}

function withSurroundings(config: CaptureConfig, around: CaptureSurroundings): CaptureConfig {
  const { env } = around;
  const proxyUid =
    config.proxyUid === "" ? (around.userId(env.ENVOY_USER ?? "istio-proxy") ?? "1337") : config.proxyUid;
  const enableIpv6 = usesIpv6(around.addresses, config.dualStack);
  const servers = config.redirectDns && !config.captureAllDns ? around.nameservers() : [];
  const parsed = servers.map(parseIp).filter((address) => address !== undefined);
  return {
    ...config,
    proxyUid,
    proxyGid: config.proxyGid === "" ? proxyUid : config.proxyGid,
    ownerGroupsInclude: env.ISTIO_OUTBOUND_OWNER_GROUPS ?? config.ownerGroupsInclude,
    ownerGroupsExclude: env.ISTIO_OUTBOUND_OWNER_GROUPS_EXCLUDE ?? config.ownerGroupsExclude,
    hostIpv4LoopbackCidr: env.ISTIO_OUTBOUND_IPV4_LOOPBACK_CIDR ?? config.hostIpv4LoopbackCidr,
    enableIpv6,
    dnsServersV4: parsed.filter((address) => address.length === 4).map(formatIp),
    dnsServersV6: parsed.filter((address) => address.length === 16).map(formatIp),
  };
}

/** The first address decides; with dual stack, whether any is IPv6. */
function usesIpv6(addresses: readonly string[], dualStack: boolean): boolean {
  const own = addresses.map(parseIp).filter((address) => address !== undefined && !isLocal(address));
  const [first] = own;
  if (first === undefined) throw new FairleadError("invalid", "no valid local IP address found");
  return (dualStack ? own : [first]).some((address) => address?.length === 16);
}

/** Loopback, link-local unicast and link-local multicast. */
function isLocal(address: Uint8Array): boolean {
  const [a = 0, b = 0, c = 0] = address;
  if (address.length === 4) return a === 127 || (a === 169 && b === 254) || (a === 224 && b === 0 && c === 0);
  return formatIp(address) === "::1" || (a === 0xfe && (b & 0xc0) === 0x80) || (a === 0xff && (b & 0x0f) === 2);
}

function splitOnce(text: string): [string, string | undefined] {
  const at = text.indexOf("=");
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

function usage(message: string): FairleadError {
  return new FairleadError("usage", message);
}
