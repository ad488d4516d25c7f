/**
 * Questions of the Pod's processes in; answers out: names of the mesh from the control plane's table, all others from
 * the servers that the Pod would ask without us.
 */
import type { Answer } from "dns-packet";
import type { Logger, Overload } from "../../lib/index.ts";
import { counterText } from "../metric-text.ts";
import type { OwnSubscription } from "../own-subscription.ts";
import { encodeReply, type Query, type Reply } from "./message.ts";
import { createNames, type NameEntry } from "./name-table.ts";
import type { NamesFile } from "./names-file.ts";
import { createDnsServer } from "./server.ts";
import { createUpstream, type NameServer } from "./upstream.ts";

export interface DnsProxyOptions {
  readonly addresses: readonly string[];
  readonly port: number;
  readonly namespace: string;
  readonly search: readonly string[];
  readonly servers: readonly NameServer[];
  /** Where the names outlive the agent; without it they do not. */
  readonly names?: NamesFile | undefined;
  readonly random: () => number;
  readonly log: Logger;
  readonly overload?: Overload | undefined;
}

export interface DnsProxy {
  readonly port: number;
  readonly subscription: OwnSubscription;
  /** In Prometheus' text format, by pilot-agent's names. */
  metrics(): string;
  close(): Promise<void>;
}

/** Seconds; as pilot-agent. */
const ttl = 30;

export async function startDnsProxy(options: DnsProxyOptions): Promise<DnsProxy> {
  const { names: file } = options;
  const names = createNames({ ...options, kept: await file?.read(), keep: (table) => file?.keep(table) });
  const upstream = createUpstream(() => options.servers, options.overload?.descriptorLimit);
  const counts = { requests: 0, upstream: 0, failures: 0, upstreamFailures: 0 };
  const passOn = async (query: Query, protocol: "udp" | "tcp", maxBytes: number): Promise<Buffer> => {
    counts.upstream++;
    const answer = await upstream.ask(query, protocol);
    if (answer) return answer;
    counts.upstreamFailures++;
    counts.failures++;
    return encodeReply(query, { code: "failed", answers: [] }, maxBytes);
  };
  const server = await createDnsServer({
    addresses: options.addresses,
    port: options.port,
    async answer(query, protocol, maxBytes) {
      counts.requests++;
      const reply = fromTable(query, names.lookup(query.name), options.random);
      return reply ? encodeReply(query, reply, maxBytes) : await passOn(query, protocol, maxBytes);
    },
    log: options.log,
    overload: options.overload,
  });
  return {
    port: server.port,
    subscription: names.subscription,
    metrics: () =>
      counterText("istio_agent_dns_requests_total", "Total number of DNS requests.", counts.requests) +
      counterText(
        "istio_agent_dns_upstream_requests_total",
        "Total number of DNS requests forwarded to upstream.",
        counts.upstream,
      ) +
      counterText("istio_agent_dns_failures_total", "Total number of DNS failures.", counts.failures) +
      counterText(
        "istio_agent_dns_upstream_failures_total",
        "Total number of DNS failures of upstream.",
        counts.upstreamFailures,
      ),
    async close() {
      await server.close();
      await file?.settle();
    },
  };
}

/** Undefined where the question is not for us: an unknown name, or a kind of record that the table does not have. */
function fromTable(query: Query, entry: NameEntry | undefined, random: () => number): Reply | undefined {
  if (!entry || (query.type !== "A" && query.type !== "AAAA")) return undefined;
  const { type } = query;
  const asked = query.packet.questions?.[0]?.name ?? query.name;
  const [name, alias]: readonly [string, readonly Answer[]] =
    entry.host === query.name
      ? [asked, []]
      : [entry.host, [{ type: "CNAME", name: asked, ttl, class: "IN", data: entry.host }]];
  const addresses = shuffled(type === "A" ? entry.ipv4 : entry.ipv6, random);
  const answers = addresses.map((data): Answer => ({ type, name, ttl, class: "IN", data }));
  // A name with addresses of the other family exists: an empty answer says so.
  return { code: "ok", answers: answers.length === 0 ? [] : [...alias, ...answers] };
}

function shuffled(list: readonly string[], random: () => number): readonly string[] {
  const keyed = list.map((item) => ({ item, key: random() }));
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
}
