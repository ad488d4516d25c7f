/** Connections to an address of the host in; the same bytes to a Pod of the mesh network out. */
import { connect, createServer } from "node:net";
import { FairleadError, systemCode } from "../../lib/index.ts";
import type { ListenAddress } from "../listen-address.ts";

export interface Relay {
  readonly address: ListenAddress;
  close(): Promise<void>;
}

export async function createRelay(
  listen: ListenAddress,
  target: () => ListenAddress | undefined,
  flag: string,
): Promise<Relay> {
  const open = new Set<{ destroy(): void }>();
  const server = createServer((client) => {
    const to = target();
    if (!to) {
      client.destroy();
      return;
    }
    const upstream = connect(to.port, to.host);
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
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) => {
      const inUse = systemCode(cause) === "EADDRINUSE";
      reject(
        new FairleadError(
          inUse ? "port-in-use" : "unavailable",
          `the gateway cannot listen on ${listen.host}:${listen.port}: ${inUse ? "the port is in use" : cause.message}`,
          {
            hint: `choose another with ${flag} HOST:PORT`,
            cause,
          },
        ),
      );
    });
    server.listen(listen.port, listen.host, () => resolve());
  });
  const bound = server.address();
  const port = typeof bound === "object" && bound ? bound.port : listen.port;
  return {
    address: { host: listen.host, port },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}
