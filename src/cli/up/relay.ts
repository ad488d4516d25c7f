/** Connections to one place in; the same bytes to another out. A place is an address, or a unix socket, which reaches across network namespaces. */
import { connect, createServer, type Socket } from "node:net";
import { guardConnections, listenOn, webLimits } from "../../lib/index.ts";
import type { ListenAddress } from "../listen-address.ts";

/** A port, or a unix socket. */
export type RelayEnd = ListenAddress | { readonly path: string };

export interface Relay {
  /** Where it listens; the path's relay has no port. */
  readonly address: ListenAddress;
  close(): Promise<void>;
}

/** The target is asked for each caller. `from` is an address of ours that the target sees as the caller's. */
export async function createRelay(
  from: RelayEnd,
  target: (caller: Socket) => (RelayEnd & { readonly from?: string }) | undefined,
  flag: string,
): Promise<Relay> {
  const server = createServer((client) => {
    const to = target(client);
    if (!to) {
      client.destroy();
      return;
    }
    const { from: localAddress, ...place } = to;
    const upstream = connect({ ...place, ...(localAddress === undefined ? {} : { localAddress }) });
    for (const socket of [client, upstream]) socket.setNoDelay(true);
    upstream.on("error", () => client.destroy());
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroySoon());
    client.pipe(upstream);
    upstream.pipe(client);
  });
  // Who is silent for too long is the target's to say.
  const connections = guardConnections(server, webLimits);
  const bound = await listenOn(server, from, `choose another with ${flag} HOST:PORT`);
  return {
    address: "path" in from ? { host: from.path, port: 0 } : { host: from.host, port: bound.port },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        connections.destroyAll();
      }),
  };
}
