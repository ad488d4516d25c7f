/** The admin port (15000) that people and tools know in; Envoy's admin socket behind it, for processes of the own Pod, out. */
import { connect, createServer, type Socket } from "node:net";
import { guardConnections, type Logger, listenOn, type Overload, webLimits } from "../../lib/index.ts";
import type { OwnPeer } from "../own-peer.ts";

export interface AdminGateOptions {
  readonly host: string;
  readonly port: number;
  readonly socketPath: string;
  readonly isOwn: OwnPeer;
  readonly log: Logger;
  readonly overload?: Overload | undefined;
}

export interface AdminGate {
  close(): Promise<void>;
}

const limits = { ...webLimits, maxConnections: 256 };
/** Answers may take Envoy a while; a person with a connection open may too. */
const idleMs = 300_000;

export async function startAdminGate(options: AdminGateOptions): Promise<AdminGate> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    client.setTimeout(idleMs, () => client.destroy());
    void options.isOwn(client).then((own) => {
      if (client.destroyed) return;
      if (own) relay(client, connect({ path: options.socketPath, allowHalfOpen: true }));
      else refuse(client, options);
    });
  });
  const connections = guardConnections(server, limits, options.overload);
  await listenOn(server, { host: options.host, port: options.port }, "choose another proxyAdminPort");
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        connections.destroyAll();
      }),
  };
}

function relay(client: Socket, envoy: Socket): void {
  envoy.on("error", () => client.destroy());
  client.once("close", () => envoy.destroy());
  envoy.once("close", () => client.destroySoon());
  client.pipe(envoy);
  envoy.pipe(client);
}

const refusal = "Envoy's admin answers processes of its own Pod, and none by way of the proxy\n";
const lingerMs = 1000;

function refuse(client: Socket, { log }: AdminGateOptions): void {
  log.warn("a connection to the admin port came by way of the proxy or from another machine, and was refused");
  client.resume();
  client.end(
    `HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\ncontent-length: ${refusal.length}\r\nconnection: close\r\n\r\n${refusal}`,
  );
  // What is still being sent is read for a moment: a reset would take the answer away.
  setTimeout(() => client.destroy(), lingerMs).unref();
}
