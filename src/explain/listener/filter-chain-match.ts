/**
 * A connection and the filter chains of a listener in; the chain that takes it out. Envoy narrows the chains down by one
 * criterion after the other and never goes back: the best port first, then the longest range of addresses, and so on.
 */
import type { CidrRange } from "../../gen/envoy/config/core/v3/address_pb.js";
import type { FilterChain, FilterChainMatch } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import { FilterChainMatch_ConnectionSourceType as SourceType } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import type { Listener } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import { longestRange, showRange } from "../match/address.ts";
import type { Connection } from "../request.ts";
import type { Inspected } from "./inspectors.ts";

export interface ChainFound {
  readonly chain: FilterChain | undefined;
  readonly why: string;
  readonly lost: readonly string[];
}

interface Criterion {
  readonly name: string;
  /** How well the chain fits: undefined not at all, 0 where it does not ask, more for better. */
  rank(match: FilterChainMatch | undefined): number | undefined;
}

export function findFilterChain(listener: Listener, connection: Connection, seen: Inspected): ChainFound {
  let left: readonly FilterChain[] = listener.filterChains;
  const lost: string[] = [];
  for (const { name, rank } of criteria(connection, seen)) {
    const fits = left.map((chain) => rank(chain.filterChainMatch));
    const best = Math.max(-1, ...fits.map((value) => value ?? -1));
    const kept = left.filter((_, i) => best >= 0 && fits[i] === best);
    for (const chain of left) if (!kept.includes(chain)) lost.push(`${showChain(chain)}: ${name}`);
    left = kept;
  }
  const [chain] = left;
  const found = chain ?? listener.defaultFilterChain;
  const why = chain ? describe(chain.filterChainMatch) : "no other chain fits";
  return { chain: found, why, lost: nearest(listener, chain, lost) };
}

function criteria({ source, destination }: Connection, { transport, sni, alpn }: Inspected): readonly Criterion[] {
  const range = (ranges: readonly CidrRange[] | undefined, ip: string): number | undefined => {
    if (!ranges?.length) return 0;
    const longest = longestRange(ranges, ip);
    return longest === undefined ? undefined : longest + 1;
  };
  const exact = (wanted: string | undefined, text: string): number | undefined =>
    !wanted ? 0 : wanted === text ? 1 : undefined;
  return [
    {
      name: `not for port ${destination.port}`,
      rank: (match) =>
        match?.destinationPort === undefined ? 0 : match.destinationPort === destination.port ? 1 : undefined,
    },
    { name: `not for ${destination.ip}`, rank: (match) => range(match?.prefixRanges, destination.ip) },
    {
      name: sni === "" ? "needs a server name" : `not for server name ${sni}`,
      rank: (match) => serverNameFit(match?.serverNames ?? [], sni),
    },
    { name: `not for ${transportWord(transport)}`, rank: (match) => exact(match?.transportProtocol, transport) },
    {
      name: alpn.length === 0 ? "needs an application protocol" : `not for ${alpn.join(", ")}`,
      rank(match) {
        if (!match?.applicationProtocols.length) return 0;
        // The client's first choice that some chain has.
        const at = alpn.findIndex((protocol) => match.applicationProtocols.includes(protocol));
        return at < 0 ? undefined : alpn.length - at;
      },
    },
    { name: `not from ${source.ip}`, rank: (match) => range(match?.directSourcePrefixRanges, source.ip) },
    {
      name: "not for this kind of source",
      rank: ({ sourceType = SourceType.ANY } = {} as FilterChainMatch) =>
        sourceType === SourceType.ANY
          ? 0
          : (sourceType === SourceType.SAME_IP_OR_LOOPBACK) === isLocal(source.ip, destination.ip)
            ? 1
            : undefined,
    },
    { name: `not from ${source.ip}`, rank: (match) => range(match?.sourcePrefixRanges, source.ip) },
    {
      name: `not from port ${source.port}`,
      rank: (match) => (!match?.sourcePorts.length ? 0 : match.sourcePorts.includes(source.port) ? 1 : undefined),
    },
  ];
}

const isLocal = (source: string, destination: string): boolean =>
  source === destination || source.startsWith("127.") || source === "::1";

/** Exact before wildcards, longer wildcards before shorter. */
function serverNameFit(names: readonly string[], sni: string): number | undefined {
  if (names.length === 0) return 0;
  const fits = names.map((name) => {
    if (name.startsWith("*.")) return sni.endsWith(name.slice(1)) && sni.length >= name.length ? name.length : -1;
    return name === sni && sni !== "" ? 10_000 : -1;
  });
  const best = Math.max(...fits);
  return best < 0 ? undefined : best;
}

const transportWord = (transport: string): string => (transport === "tls" ? "TLS" : "plain text");

function describe(match: FilterChainMatch | undefined): string {
  if (!match) return "it takes everything";
  const words = [
    match.destinationPort === undefined ? "" : `port ${match.destinationPort}`,
    match.prefixRanges.map(showRange).join(", "),
    match.serverNames.length === 0 ? "" : `server name ${match.serverNames.slice(0, 3).join(", ")}`,
    match.transportProtocol === "" ? "" : transportWord(match.transportProtocol),
    match.applicationProtocols.join(", "),
  ].filter((word) => word !== "");
  return words.length === 0 ? "it takes everything" : words.join(" · ");
}

const showChain = (chain: FilterChain): string =>
  `${chain.name || "unnamed chain"} (${describe(chain.filterChainMatch)})`;

/** Those for the same port tell more than those for any other. */
function nearest(listener: Listener, chosen: FilterChain | undefined, lost: readonly string[]): readonly string[] {
  const close = lost.filter((line) => !line.includes(": not for port"));
  const rest = listener.filterChains.length - close.length - (chosen ? 1 : 0);
  return [...close.slice(0, 6), ...(rest > 0 ? [`${rest} for other ports`] : [])];
}
