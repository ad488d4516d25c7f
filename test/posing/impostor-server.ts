/** What to show to one caller after the other in; a server that does, and says what each caller gave away, out. */
import { createServer, type Server, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { Impostor } from "./impostors.ts";

/** Of a caller that has come and gone. */
export interface Visit {
  /** Which of what is shown it met. */
  readonly index: number;
  /** What it said: within TLS, or to one that has none. */
  readonly said: string;
}

export function createImpostorServer(shown: readonly Impostor["shown"][], onVisit: (visit: Visit) => void): Server {
  let visits = 0;
  return createServer((socket) => {
    const index = visits++ % shown.length;
    const certificate = shown[index];
    const caller: Socket = certificate
      ? new TLSSocket(socket, { isServer: true, ...certificate, ALPNProtocols: ["h2"] })
      : socket;
    let said = "";
    caller.on("data", (chunk: Buffer) => {
      said += chunk.toString("latin1");
      if (!certificate) caller.end("HTTP/1.1 200 OK\r\n\r\n");
    });
    caller.on("error", () => caller.destroy());
    socket.on("error", () => {});
    socket.once("close", () => onVisit({ index, said }));
  });
}
