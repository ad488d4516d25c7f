/**
 * Capture settings in, iptables rules out, as data. One list per address family; the order of the passes below is
 * the order of the rules, and in iptables the order decides.
 */
import { FairleadError, formatIp, type Prefix, parsePrefix } from "../../lib/index.ts";
import { type CaptureConfig, splitList } from "./config.ts";
import { append, type CaptureRule, type CaptureRules, type FamilyScope, insert, type Ranges } from "./rule.ts";
import { dnsRules } from "./rules-dns.ts";
import { tproxyRules } from "./rules-tproxy.ts";

export function buildCaptureRules(config: CaptureConfig): CaptureRules {
  const exclude = parseRanges(config.outboundIpRangesExclude);
  if (exclude === "*") throw new FairleadError("invalid", "invalid value for OUTBOUND_IP_RANGES_EXCLUDE");
  const include = parseRanges(config.outboundIpRangesInclude);
  const servers = config.dnsServersV4.length + config.dnsServersV6.length;
  const shared = {
    config,
    tproxy: config.inboundInterceptionMode === "TPROXY",
    redirectDns: config.redirectDns && (config.captureAllDns || servers > 0),
    capturesLoopback: include !== "*" && include.some(isLoopback),
  };
  const family = (version: 4 | 6): readonly CaptureRule[] => {
    const scope: FamilyScope = {
      ...shared,
      ...(version === 4
        ? {
            loopback: config.hostIpv4LoopbackCidr,
            passthroughSource: "127.0.0.6/32",
            hostBits: 32,
            dnsServers: config.dnsServersV4,
          }
        : { loopback: "::1/128", passthroughSource: "::6/128", hostBits: 128, dnsServers: config.dnsServersV6 }),
      ranges: { include: ofFamily(include, version), exclude: ofFamily(exclude, version) },
    };
    return passes.flatMap((pass) => pass(scope));
  };
  return { v4: family(4), v6: config.enableIpv6 ? family(6) : [] };
}

/** `*`, or the prefixes of the list; the error is netip's own. */
function parseRanges(text: string): "*" | readonly Prefix[] {
  if (text === "*") return "*";
  return splitList(text).map((item) => {
    const prefix = parsePrefix(item);
    if ("error" in prefix) throw new FairleadError("invalid", prefix.error);
    return prefix;
  });
}

function ofFamily(ranges: "*" | readonly Prefix[], family: 4 | 6): Ranges {
  if (ranges === "*") return { wildcard: true, cidrs: [] };
  const own = ranges.filter((prefix) => prefix.family === family);
  return { wildcard: false, cidrs: own.map((prefix) => `${formatIp(prefix.address)}/${prefix.bits}`) };
}

function isLoopback({ family, address }: Prefix): boolean {
  if (family === 4) return address[0] === 127;
  const text = formatIp(address);
  return text === "::1" || text.startsWith("::ffff:127.");
}

type Pass = (scope: FamilyScope) => readonly CaptureRule[];

const excludedInterfaces: Pass = ({ config, tproxy }) => {
  const rules = (table: "nat" | "mangle"): readonly CaptureRule[] =>
    splitList(config.excludeInterfaces).flatMap((name) => [
      append(table, "PREROUTING", "-i", name, "-j", "RETURN"),
      append(table, "OUTPUT", "-o", name, "-j", "RETURN"),
    ]);
  return tproxy ? [...rules("nat"), ...rules("mangle")] : rules("nat");
};

const virtualInterfaces: Pass = ({ config }) =>
  splitList(config.rerouteVirtualInterfaces).map((name) => insert("nat", "PREROUTING", 1, "-i", name, "-j", "RETURN"));

/** Packets out of the TCP window are dropped rather than answered with a reset that ends the connection. */
const invalidPackets: Pass = ({ config }) =>
  config.dropInvalid
    ? [
        append("mangle", "PREROUTING", "-m", "conntrack", "--ctstate", "INVALID", "-j", "ISTIO_DROP"),
        append("mangle", "ISTIO_DROP", "-j", "DROP"),
      ]
    : [];

const redirectTargets: Pass = ({ config }) => [
  append("nat", "ISTIO_INBOUND", "-p", "tcp", "--dport", config.inboundTunnelPort, "-j", "RETURN"),
  append("nat", "ISTIO_REDIRECT", "-p", "tcp", "-j", "REDIRECT", "--to-ports", config.proxyPort),
  append("nat", "ISTIO_IN_REDIRECT", "-p", "tcp", "-j", "REDIRECT", "--to-ports", config.inboundCapturePort),
];

const inbound: Pass = ({ config, tproxy, loopback }) => {
  if (config.inboundPortsInclude === "") return [];
  const table = tproxy ? "mangle" : "nat";
  const capture = (...match: readonly string[]): readonly CaptureRule[] =>
    tproxy
      ? [
          // What belongs to a known connection goes to loopback; the rest is new and goes to Envoy.
          append(
            table,
            "ISTIO_INBOUND",
            "-p",
            "tcp",
            ...match,
            "-m",
            "conntrack",
            "--ctstate",
            "RELATED,ESTABLISHED",
            "-j",
            "ISTIO_DIVERT",
          ),
          append(table, "ISTIO_INBOUND", "-p", "tcp", ...match, "-j", "ISTIO_TPROXY"),
        ]
      : [append(table, "ISTIO_INBOUND", "-p", "tcp", ...match, "-j", "ISTIO_IN_REDIRECT")];
  const head = [
    ...(tproxy ? tproxyTargets(config, loopback) : []),
    append(table, "PREROUTING", "-p", "tcp", "-j", "ISTIO_INBOUND"),
  ];
  if (config.inboundPortsInclude !== "*")
    return [...head, ...splitList(config.inboundPortsInclude).flatMap((port) => capture("--dport", port))];
  const excluded = splitList(config.inboundPortsExclude).map((port) =>
    append(table, "ISTIO_INBOUND", "-p", "tcp", "--dport", port, "-j", "RETURN"),
  );
  return [...head, ...excluded, ...capture()];
};

function tproxyTargets(config: CaptureConfig, loopback: string): readonly CaptureRule[] {
  const mark = config.inboundTproxyMark;
  const tproxy = ["-j", "TPROXY", "--tproxy-mark", `${mark}/0xffffffff`, "--on-port", config.inboundCapturePort];
  return [
    append("mangle", "ISTIO_DIVERT", "-j", "MARK", "--set-mark", mark),
    append("mangle", "ISTIO_DIVERT", "-j", "ACCEPT"),
    append("mangle", "ISTIO_TPROXY", "!", "-d", loopback, "-p", "tcp", ...tproxy),
  ];
}

const outbound: Pass = ({ config, passthroughSource }) => [
  append("nat", "OUTPUT", "-j", "ISTIO_OUTPUT"),
  ...splitList(config.outboundPortsExclude).flatMap((port) => [
    append("nat", "ISTIO_OUTPUT", "-p", "tcp", "--dport", port, "-j", "RETURN"),
    append("nat", "ISTIO_OUTPUT", "-p", "udp", "--dport", port, "-j", "RETURN"),
  ]),
  append("nat", "ISTIO_OUTPUT", "-o", "lo", "-s", passthroughSource, "-j", "RETURN"),
];

/**
 * For each owner Envoy and the agent run as: its calls to the Pod's own address go through inbound (a call to oneself
 * by a service's name), other owners' calls over loopback stay direct, and all else it sends is left alone.
 */
const proxyOwners: Pass = (scope) => [
  ...splitList(scope.config.proxyUid).flatMap((uid) => ownerRules(scope, "--uid-owner", uid)),
  ...splitList(scope.config.proxyGid).flatMap((gid) => ownerRules(scope, "--gid-owner", gid)),
];

function ownerRules(scope: FamilyScope, match: "--uid-owner" | "--gid-owner", owner: string): readonly CaptureRule[] {
  const tunnel = scope.config.inboundTunnelPort;
  // The agent's own DNS calls must not be led through inbound; Istio says so for user ids alone.
  const notTo =
    scope.redirectDns && match === "--uid-owner"
      ? ["-m", "multiport", "!", "--dports", `53,${tunnel}`]
      : ["!", "--dport", tunnel];
  const toSelf = ["-o", "lo", "!", "-d", scope.loopback, "-p", "tcp", ...notTo, "-m", "owner", match, owner];
  // A DNS server on localhost is asked over TCP too: port 53 stays for the DNS rules further down.
  const overLoopback = scope.redirectDns ? ["-o", "lo", "-p", "tcp", "!", "--dport", "53"] : ["-o", "lo"];
  const direct = append("nat", "ISTIO_OUTPUT", ...overLoopback, "-m", "owner", "!", match, owner, "-j", "RETURN");
  return [
    append("nat", "ISTIO_OUTPUT", ...toSelf, "-j", "ISTIO_IN_REDIRECT"),
    ...(scope.capturesLoopback ? [] : [direct]),
    append("nat", "ISTIO_OUTPUT", "-m", "owner", match, owner, "-j", "RETURN"),
  ];
}

const ownerGroups: Pass = ({ config }) => {
  if (config.ownerGroupsInclude === "*")
    return splitList(config.ownerGroupsExclude).map((group) =>
      append("nat", "ISTIO_OUTPUT", "-m", "owner", "--gid-owner", group, "-j", "RETURN"),
    );
  const none = splitList(config.ownerGroupsInclude).flatMap((group) => ["-m", "owner", "!", "--gid-owner", group]);
  return [append("nat", "ISTIO_OUTPUT", ...none, "-j", "RETURN")];
};

const outboundRanges: Pass = ({ config, loopback, ranges }) => {
  const redirect = (interfaces: readonly string[], ...match: readonly string[]): readonly CaptureRule[] =>
    interfaces.map((name) => insert("nat", "PREROUTING", 1, "-i", name, ...match, "-j", "ISTIO_REDIRECT"));
  const virtual = splitList(config.rerouteVirtualInterfaces);
  const wildcard = [append("nat", "ISTIO_OUTPUT", "-j", "ISTIO_REDIRECT"), ...redirect(virtual)];
  const listed = ranges.include.cidrs.flatMap((cidr) => [
    ...redirect(virtual, "-d", cidr),
    append("nat", "ISTIO_OUTPUT", "-d", cidr, "-j", "ISTIO_REDIRECT"),
  ]);
  return [
    append("nat", "ISTIO_OUTPUT", "-d", loopback, "-j", "RETURN"),
    ...ranges.exclude.cidrs.map((cidr) => append("nat", "ISTIO_OUTPUT", "-d", cidr, "-j", "RETURN")),
    ...splitList(config.outboundPortsInclude).map((port) =>
      append("nat", "ISTIO_OUTPUT", "-p", "tcp", "--dport", port, "-j", "ISTIO_REDIRECT"),
    ),
    ...(ranges.include.wildcard ? wildcard : listed),
  ];
};

const passes: readonly Pass[] = [
  excludedInterfaces,
  virtualInterfaces,
  invalidPackets,
  redirectTargets,
  inbound,
  outbound,
  proxyOwners,
  ownerGroups,
  (scope) => (scope.redirectDns ? dnsRules(scope) : []),
  outboundRanges,
  (scope) => (scope.tproxy ? tproxyRules(scope) : []),
];
