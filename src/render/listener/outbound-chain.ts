/** What an outbound listener consists of, as plain data: decided in one place, built in another. */
import type { ObjectId, Protocol, RouteDestination } from "../../model/index.ts";
import { readPrefix, wildcardCidr } from "../build/listener-chain.ts";

export interface OutboundListener {
  readonly name: string;
  /** First the one that names it, then those of the other family. */
  readonly binds: readonly [string, ...string[]];
  /** 0 for a Unix socket. */
  readonly port: number;
  /** A real socket; else traffic comes from the capture listener. */
  readonly bindToPort: boolean;
  readonly chains: readonly OutboundChain[];
}

interface Match {
  readonly sniHosts: readonly string[];
  readonly destinations: readonly string[];
  readonly applicationProtocols: readonly string[];
  readonly transport: "" | "raw_buffer";
}

export interface OutboundHttpChain extends Match {
  readonly kind: "http";
  readonly routeName: string;
  readonly protocol: Protocol;
  /** Host of a wildcard service that Envoy resolves per request. */
  readonly dynamicHost: string | undefined;
  readonly absoluteUrls: boolean;
}

export interface OutboundTcpChain extends Match {
  readonly kind: "tcp";
  readonly protocol: Protocol;
  /** Where the traffic goes: a service, or what a VirtualService says. */
  readonly target:
    | { readonly service: string; readonly port: number }
    | {
        readonly routes: readonly RouteDestination[];
        readonly virtualService: ObjectId;
        readonly field: string;
      };
  /** Sent to whatever host the client names by SNI. */
  readonly bySni: boolean;
  /** The VirtualService is named in the chain's metadata. */
  readonly described: boolean;
}

export type OutboundChain = OutboundHttpChain | OutboundTcpChain;

export const anyMatch: Match = { sniHosts: [], destinations: [], applicationProtocols: [], transport: "" };

/** What Envoy's HTTP inspector finds in plain text. */
export const plaintextHttp: readonly string[] = ["http/1.1", "h2c"];

export const sniffedHttp: Match = { ...anyMatch, applicationProtocols: plaintextHttp, transport: "raw_buffer" };

/** Takes whatever no other chain takes. */
export function matchesAll({ sniHosts, destinations, applicationProtocols, transport }: Match): boolean {
  const anyName = sniHosts.length === 0 || sniHosts.includes("*");
  return anyName && applicationProtocols.length === 0 && transport === "" && destinations.length === 0;
}

/** Equal for matches that Envoy takes for the same, and refuses: names and ranges count as sets, ranges by what they cover. */
export function matchKey({ transport, applicationProtocols, sniHosts, destinations }: Match): string {
  const names = sniHosts.filter((host) => host !== "*");
  return [transport, applicationProtocols.join(), setKey(names), setKey(destinations.flatMap(networkOf))].join("|");
}

const setKey = (words: readonly string[]): string => [...new Set(words)].sort().join();

/** The range without the bits that its length leaves out; nothing for what matches everything. */
function networkOf(text: string): readonly string[] {
  const prefix = readPrefix(text);
  if (!prefix || prefix.addressPrefix === wildcardCidr) return [];
  return [`${masked(prefix)}/${prefix.prefixLen}`];
}

function masked({ bytes, prefixLen }: { readonly bytes: Uint8Array; readonly prefixLen: number }): string {
  const kept = bytes.map((byte, i) => byte & (0xff00 >> Math.min(8, Math.max(0, prefixLen - 8 * i))));
  return Buffer.from(kept).toString("hex");
}
