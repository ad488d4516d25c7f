/** `fairlead edge`: DNS of the standalone mesh's network, and addresses of this machine that lead to its Services. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import type { Command } from "commander";
import { parseResolvConf } from "../agent/index.ts";
import { createGraph } from "../collections/index.ts";
import { createHttpSource, createKubeClient } from "../kube/index.ts";
import { createLogger, FairleadError } from "../lib/index.ts";
import {
  type ClusterDnsOptions,
  createClusterDns,
  createClusterNames,
  serviceBackends,
  standaloneKinds,
} from "../standalone/index.ts";
import { clusterAccess } from "./cluster-access.ts";
import { type Io, untilStopped } from "./command.ts";
import { formatAddress, type ListenAddress, parseListenAddress } from "./listen-address.ts";
import { createRelay } from "./up/relay.ts";

interface EdgeFlags {
  readonly kubeconfig?: string;
  readonly dns: string;
  readonly dnsUpstream?: string;
  readonly domain: string;
  readonly way: readonly string[];
  readonly boundAddresses?: string;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("edge")
    .summary("Serve DNS and the ways into a standalone mesh")
    .description("What `fairlead up` starts beside the control plane, so that traffic does not depend on it.")
    .option("--kubeconfig <file>", "how to reach the API")
    .requiredOption("--dns <addr>", "where DNS is served")
    .option("--dns-upstream <addr>", "where questions about other names go, or `system`; refused without")
    .option("--domain <domain>", "DNS domain suffix", "cluster.local")
    .option("--way <way...>", "NAME=ADDRESS=NAMESPACE/SERVICE:PORT, an address that leads to a Service", [])
    .option("--bound-addresses <file>", "write the addresses, once bound, as JSON to this file")
    .addHelpText(
      "after",
      "\nExample:\n  fairlead edge --dns 127.0.0.1:5353 --way gateway=127.0.0.1:8081=istio-system/istio-ingressgateway:80\n",
    )
    .action(async (flags: EdgeFlags) => exit(await edge(flags, io)));
}

async function edge(flags: EdgeFlags, io: Io): Promise<number> {
  const log = createLogger({ write: (line) => io.err(`${line}\n`), now: () => new Date() });
  const at = (flag: string, text: string): ListenAddress => parseListenAddress(flag, text, "127.0.0.1");
  const ways = flags.way.map((text) => parseWay(text));
  const client = createKubeClient(await clusterAccess(flags, io));
  const source = createHttpSource({ graph: createGraph(), client, log, random: Math.random });
  const [services, slices] = [standaloneKinds.services, standaloneKinds.endpointSlices].map((kind) =>
    source.watchKind(kind),
  );
  if (!services || !slices) throw new FairleadError("internal", "nothing is watched");
  await Promise.all([services.synced, slices.synced]);
  const dnsAt = at("--dns", flags.dns);
  const dns = await createClusterDns({
    address: dnsAt.host,
    port: dnsAt.port,
    domain: flags.domain,
    lookup: createClusterNames(flags.domain, services.objects, slices.objects),
    ...upstreamOf(flags),
    log: log.scope("dns"),
  });
  const relays = await Promise.all(
    ways.map(async ({ name, listen, namespace, service, port }) => {
      const backends = serviceBackends(services.objects, slices.objects, { namespace, name: service, port });
      let turn = 0;
      const next = (): ListenAddress | undefined => {
        const found = backends();
        return found[turn++ % Math.max(1, found.length)];
      };
      return { name, relay: await createRelay(listen, next, `--${name}-addr`) };
    }),
  );
  const bound = Object.fromEntries([
    ["dns", formatAddress({ host: dnsAt.host, port: dns.port })],
    ...relays.map(({ name, relay }) => [name, formatAddress(relay.address)]),
  ]);
  if (flags.boundAddresses !== undefined) {
    writeFileSync(`${flags.boundAddresses}.new`, JSON.stringify(bound), { mode: 0o600 });
    renameSync(`${flags.boundAddresses}.new`, flags.boundAddresses);
  }
  await untilStopped(io.signal);
  await Promise.all([dns.close(), ...relays.map(({ relay }) => relay.close())]);
  source.close();
  client.close();
  return 0;
}

/** This machine's own servers are read each time: they change with the network that it is in. */
function upstreamOf({ dnsUpstream }: EdgeFlags): Pick<ClusterDnsOptions, "upstream"> {
  if (dnsUpstream === undefined) return {};
  if (dnsUpstream === "system")
    return {
      upstream: () =>
        parseResolvConf(readFileSync("/etc/resolv.conf", "utf8")).servers.map((host) => ({ host, port: 53 })),
    };
  const server = parseListenAddress("--dns-upstream", dnsUpstream, "127.0.0.1");
  return { upstream: () => [server] };
}

interface Way {
  readonly name: string;
  readonly listen: ListenAddress;
  readonly namespace: string;
  readonly service: string;
  readonly port: number;
}

function parseWay(text: string): Way {
  const [, name = "", address = "", namespace = "", service = "", port = ""] =
    /^([a-z-]+)=([^=]+)=([^/]+)\/([^:]+):(\d+)$/.exec(text) ?? [];
  if (name === "") throw new FairleadError("usage", `--way: ${text} is not NAME=ADDRESS=NAMESPACE/SERVICE:PORT`);
  const listen = parseListenAddress("--way", address, "127.0.0.1");
  return { name, listen, namespace, service, port: Number(port) };
}
