/** The rules that lead DNS questions to the agent's resolver on 15053 and keep the two UDP conversations apart in conntrack. */
import { splitList } from "./config.ts";
import { append, type CaptureRule, type FamilyScope } from "./rule.ts";

const dnsPort = "53";
const agentPort = "15053";
/** The agent's questions to real servers, and the answers. */
const upstreamZone = ["-j", "CT", "--zone", "1"];
/** The applications' questions to the agent, and its answers. */
const clientZone = ["-j", "CT", "--zone", "2"];

/**
 * Only questions to the servers of resolv.conf are captured unless all are asked for: a local forwarder's own
 * questions to another server must not come back to the agent.
 */
export function dnsRules(scope: FamilyScope): readonly CaptureRule[] {
  const toServers = targets(scope, "-d");
  const redirect = (protocol: "tcp" | "udp", option: string): readonly CaptureRule[] =>
    toServers.map((match) =>
      append(
        "nat",
        "ISTIO_OUTPUT_DNS",
        "-p",
        protocol,
        "--dport",
        dnsPort,
        ...match,
        "-j",
        "REDIRECT",
        option,
        agentPort,
      ),
    );
  return [
    append("raw", "OUTPUT", "-j", "ISTIO_OUTPUT_DNS"),
    ...(toServers.length > 0 ? [append("nat", "ISTIO_OUTPUT", "-j", "ISTIO_OUTPUT_DNS")] : []),
    ...redirect("tcp", "--to-ports"),
    ...redirect("udp", "--to-port"),
    ...splitList(scope.config.proxyUid).flatMap((uid) => agentZones("--uid-owner", uid)),
    ...splitList(scope.config.proxyGid).flatMap((gid) => agentZones("--gid-owner", gid)),
    ...serverZones(scope),
  ];
}

function agentZones(match: string, owner: string): readonly CaptureRule[] {
  const by = ["-m", "owner", match, owner];
  return [
    append("raw", "ISTIO_OUTPUT_DNS", "-p", "udp", "--dport", dnsPort, ...by, ...upstreamZone),
    append("raw", "ISTIO_OUTPUT_DNS", "-p", "udp", "--sport", agentPort, ...by, ...clientZone),
  ];
}

function serverZones(scope: FamilyScope): readonly CaptureRule[] {
  const [to, from] = [targets(scope, "-d"), targets(scope, "-s")];
  if (to.length === 0) return [];
  const zones = to.flatMap((match, i) => [
    append("raw", "ISTIO_OUTPUT_DNS", "-p", "udp", "--dport", dnsPort, ...match, ...clientZone),
    append("raw", "ISTIO_INBOUND", "-p", "udp", "--sport", dnsPort, ...(from[i] ?? []), ...upstreamZone),
  ]);
  return [append("raw", "PREROUTING", "-j", "ISTIO_INBOUND"), ...zones];
}

/** One match per server, or a single empty match for all of them. */
function targets(
  { config, dnsServers, hostBits }: FamilyScope,
  direction: "-d" | "-s",
): readonly (readonly string[])[] {
  return config.captureAllDns ? [[]] : dnsServers.map((server) => [direction, `${server}/${hostBits}`]);
}
