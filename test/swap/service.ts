/**
 * An address and what is behind it in; what kube-proxy makes of a Service out: new connections go to one of the present
 * backends, those that are open stay where they are.
 */
import { connect, createServer, type Server, type Socket } from "node:net";

export interface ServiceAddress {
  /** Where connections go from now on. */
  point(...backends: readonly string[]): void;
  close(): Promise<void>;
}

/** Ports of the Service, with those of the backends. */
export async function serveService(address: string, ports: Readonly<Record<number, number>>): Promise<ServiceAddress> {
  let targets: readonly string[] = [];
  let turn = 0;
  const open = new Set<Socket>();
  const servers: Server[] = [];
  for (const [port, target] of Object.entries(ports)) {
    const server = createServer((client) => {
      const host = targets[turn++ % targets.length];
      if (host === undefined) return client.destroy();
      const backend = connect({ host, port: target });
      for (const [from, to] of [
        [client, backend],
        [backend, client],
      ] as const) {
        open.add(from);
        from.on("error", () => to.destroy());
        from.once("close", () => {
          open.delete(from);
          to.destroy();
        });
        from.pipe(to);
      }
    });
    servers.push(server);
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(Number(port), address, resolve);
    });
  }
  return {
    point(...backends) {
      targets = backends;
    },
    async close() {
      for (const socket of open) socket.destroy();
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}
