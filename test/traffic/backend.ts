/** An address in; a server that the test itself plays out, which remembers what reached it and fails on demand. */
import { once } from "node:events";
import http from "node:http";
import net from "node:net";
import tls from "node:tls";
import type { ServerIdentity } from "./ca.ts";

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
}

export interface Backend {
  readonly name: string;
  readonly address: string;
  readonly seen: Seen[];
  /** Set to make it answer otherwise. */
  status: number;
  delayMs: number;
  /** While set, answers wait for it. */
  gate: Promise<void> | undefined;
  /** Statuses of the next answers, before `status` counts again. */
  readonly nextStatuses: number[];
  /** Requests answered at this moment. */
  readonly busy: number;
  /** The most at once. */
  peak: number;
  close(): Promise<void>;
}

/** Long runs ask for no more. */
const seenAtMost = 10_000;

export const httpPort = 8080;
export const tlsPort = 8443;
export const tcpPort = 9090;

/** HTTP on 8080, HTTP over TLS on 8443 with the server's name seen, and on 9090 a TCP server that says its name on any line. */
export async function startBackend(name: string, address: string, identity: ServerIdentity): Promise<Backend> {
  const seen: Seen[] = [];
  const state: Pick<Backend, "status" | "delayMs" | "gate" | "peak" | "nextStatuses"> & { busy: number } = {
    status: 200,
    delayMs: 0,
    gate: undefined,
    busy: 0,
    peak: 0,
    nextStatuses: [] as number[],
  };
  const answer: http.RequestListener = (request, response) => {
    if (seen.length < seenAtMost)
      seen.push({ method: request.method ?? "", path: request.url ?? "", headers: request.headers });
    state.busy++;
    state.peak = Math.max(state.peak, state.busy);
    response.once("close", () => state.busy--);
    const { socket } = request;
    const sni = socket instanceof tls.TLSSocket && typeof socket.servername === "string" ? ` ${socket.servername}` : "";
    const end = (): void => {
      response.writeHead(state.nextStatuses.shift() ?? state.status, { "x-backend": name });
      response.end(`${name}${sni}`);
    };
    if (state.gate) void state.gate.then(end);
    else if (state.delayMs > 0) setTimeout(end, state.delayMs);
    else end();
  };
  const plain = http.createServer({ maxHeaderSize: 1 << 20, keepAliveTimeout: 120_000 }, answer);
  const inner = http.createServer({ keepAliveTimeout: 120_000 }, answer);
  const secure = tls.createServer({ cert: identity.cert, key: identity.key }, (socket) =>
    inner.emit("connection", socket),
  );
  secure.on("tlsClientError", () => {});
  const raw = net.createServer((socket) => {
    seen.push({ method: "TCP", path: "", headers: {} });
    socket.on("data", () => socket.end(name)).on("error", () => {});
  });
  const sockets = new Set<net.Socket>();
  const servers = [
    [plain, httpPort],
    [secure, tlsPort],
    [raw, tcpPort],
  ] as const;
  for (const [server, port] of servers) {
    server.on("connection", (socket: net.Socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket)).on("error", () => {});
    });
    server.listen(port, address);
    await once(server, "listening");
  }
  return Object.assign(state, {
    name,
    address,
    seen,
    async close() {
      for (const socket of sockets) socket.destroy();
      await Promise.all(servers.map(([server]) => new Promise<void>((resolve) => server.close(() => resolve()))));
    },
  });
}
