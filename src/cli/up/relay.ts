/** Connections to one place in; the same bytes to another out. A place is an address, or a unix socket, which reaches across network namespaces. */
import { connect, createServer, type Server } from "node:net";
import { FairleadError, systemCode } from "../../lib/index.ts";
import type { ListenAddress } from "../listen-address.ts";

export type Place = ListenAddress | { readonly path: string };

export interface Relay {
  /** Where it listens; the path's relay has no port. */
  readonly address: ListenAddress;
  close(): Promise<void>;
}

export async function createRelay(from: Place, target: () => Place | undefined, flag: string): Promise<Relay> {
  const open = new Set<{ destroy(): void }>();
  const server = createServer((client) => {
    const to = target();
    if (!to) {
      client.destroy();
      return;
    }
    const upstream = "path" in to ? connect(to.path) : connect(to.port, to.host);
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.setNoDelay(true);
      socket.on("close", () => open.delete(socket));
    }
    client.on("error", () => upstream.destroy());
    upstream.on("error", () => client.destroy());
    client.pipe(upstream);
    upstream.pipe(client);
  });
  await listen(server, from, flag);
  const bound = server.address();
  return {
    address: {
      host: "path" in from ? from.path : from.host,
      port: typeof bound === "object" && bound ? bound.port : 0,
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

function listen(server: Server, from: Place, flag: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause) => {
      const inUse = systemCode(cause) === "EADDRINUSE";
      const place = "path" in from ? from.path : `${from.host}:${from.port}`;
      reject(
        new FairleadError(
          inUse ? "port-in-use" : "unavailable",
          `cannot listen on ${place}: ${inUse ? "the port is in use" : cause.message}`,
          { hint: `choose another with ${flag} HOST:PORT`, cause },
        ),
      );
    });
    if ("path" in from) server.listen(from.path, () => resolve());
    else server.listen(from.port, from.host, () => resolve());
  });
}
