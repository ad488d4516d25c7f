/** DNS of the mesh network and the ways in from outside, as a process of its own: traffic does not need whoever started it. */
import { createSocket } from "node:dgram";
import { join } from "node:path";
import { encode } from "dns-packet";
import { formatAddress, type ListenAddress } from "../listen-address.ts";
import { childEnv } from "./control-plane-child.ts";
import { type Supervised, type SupervisedOptions, supervise } from "./supervised.ts";

export interface EdgeOptions
  extends Pick<SupervisedOptions, "journal" | "log" | "line" | "random" | "signal" | "restarted" | "tell"> {
  readonly dir: string;
  readonly kubeconfig: string;
  readonly dnsAddress: ListenAddress;
  /** An address, or `system`; names outside are refused without. */
  readonly dnsUpstream: string | undefined;
  readonly domain: string;
  /** By name: where to listen, and `NAMESPACE/SERVICE:PORT` to lead to. */
  readonly ways: ReadonlyMap<string, { readonly listen: ListenAddress; readonly service: string }>;
  readonly fairlead: readonly string[];
}

export function startEdge(options: EdgeOptions): Promise<Supervised> {
  const boundFile = join(options.dir, "run", "edge-addresses.json");
  return supervise({
    ...options,
    name: "the edge (DNS and the gateway's address)",
    boundFile,
    logFile: join(options.dir, "logs", "edge.log"),
    env: childEnv(options.dir),
    command: (bound) => [
      ...options.fairlead,
      "edge",
      ...["--kubeconfig", options.kubeconfig, "--domain", options.domain],
      ...(bound ? [] : ["--bound-addresses", boundFile]),
      ...["--dns", formatAddress(options.dnsAddress)],
      ...(options.dnsUpstream ? ["--dns-upstream", options.dnsUpstream] : []),
      ...[...options.ways].flatMap(([name, { listen, service }]) => [
        "--way",
        `${name}=${bound?.get(name) ?? formatAddress(listen)}=${service}`,
      ]),
    ],
    ask: (_, deadline) => askDns(options, deadline),
  });
}

/** Any answer will do: of a name in the mesh's own domain it comes at once, without asking anybody else. */
function askDns(options: EdgeOptions, deadline: AbortSignal): Promise<boolean> {
  const question = encode({
    type: "query",
    id: 1,
    questions: [{ type: "A", name: `life.${options.domain}` }],
  });
  return new Promise((resolve, reject) => {
    const socket = createSocket("udp4");
    const finish = (settle: () => void): void => {
      deadline.removeEventListener("abort", late);
      socket.removeAllListeners().on("error", () => {});
      socket.close();
      settle();
    };
    const late = (): void => finish(() => reject(deadline.reason));
    deadline.addEventListener("abort", late, { once: true });
    socket.once("message", () => finish(() => resolve(true)));
    socket.once("error", (error) => finish(() => reject(error)));
    socket.send(question, options.dnsAddress.port, options.dnsAddress.host);
  });
}
