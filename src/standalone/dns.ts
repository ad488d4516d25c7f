/** Names of Services and Pods in DNS queries in; their addresses out. Other names are refused, or asked of an upstream. */
import {
  createDnsServer,
  createUpstream,
  type DnsServer,
  encodeReply,
  type NameServer,
  type Query,
  type Reply,
} from "../agent/index.ts";
import type { Logger } from "../lib/index.ts";

/** Addresses of a name inside the cluster domain; undefined where there is no such name. */
export type Lookup = (name: string) => readonly string[] | undefined;

export interface ClusterDnsOptions {
  readonly address: string;
  readonly port: number;
  readonly domain: string;
  readonly lookup: Lookup;
  /** Who is asked about other names, one after the other; nobody where absent. */
  readonly upstream?: () => readonly NameServer[];
  readonly log: Logger;
}

/** Seconds that clients may remember an answer: Pods come and go. */
const ttl = 5;

export function createClusterDns(options: ClusterDnsOptions): Promise<DnsServer> {
  const { upstream } = options;
  const outside = upstream && createUpstream(upstream);
  return createDnsServer({
    addresses: [options.address],
    port: options.port,
    async answer(query, protocol, maxBytes) {
      const isOurs = query.name === options.domain || query.name.endsWith(`.${options.domain}`);
      if (!isOurs && outside) return await outside.ask(query, protocol);
      const reply: Reply = isOurs ? fromCluster(query, options.lookup) : { code: "failed", answers: [] };
      return encodeReply(query, reply, maxBytes);
    },
    log: options.log,
  });
}

function fromCluster({ name, type, packet }: Query, lookup: Lookup): Reply {
  const addresses = lookup(name);
  if (!addresses) return { code: "no-such-name", answers: [] };
  const asked = packet.questions?.[0]?.name ?? name;
  const answers = addresses.map((data) => ({ type: "A", name: asked, ttl, data }) as const);
  return { code: "ok", answers: type === "A" ? answers : [] };
}
