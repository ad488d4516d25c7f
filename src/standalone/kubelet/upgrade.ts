/** A request to go on in another protocol in; the connection in that protocol, or the word that there is none in common, out. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { acceptKey, type ByteTransport, openWebSocket, socketTransport } from "../../lib/index.ts";

/** Names of protocols, the best first. */
export interface Offer {
  readonly webSocket: readonly string[];
  readonly spdy: readonly string[];
}

export interface Upgraded {
  readonly over: keyof Offer;
  readonly protocol: string;
  readonly transport: ByteTransport;
}

export function acceptUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  offer: Offer,
): Upgraded | undefined {
  const wanted = (request.headers.upgrade ?? "").toLowerCase();
  if (wanted === "websocket") return acceptWebSocket(request, socket, head, offer.webSocket);
  if (wanted === "spdy/3.1") return acceptSpdy(request, socket, head, offer.spdy);
  refuseUpgrade(socket, 400, `unable to upgrade: ${JSON.stringify(wanted)} is not served`);
  return undefined;
}

function acceptWebSocket(
  { headers }: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  offered: readonly string[],
): Upgraded | undefined {
  const key = headers["sec-websocket-key"];
  const protocol = choose(headers["sec-websocket-protocol"], offered);
  if (key === undefined || headers["sec-websocket-version"] !== "13" || protocol === undefined) {
    refuseUpgrade(socket, 400, noneInCommon(headers["sec-websocket-protocol"], offered));
    return undefined;
  }
  const answer = [
    ...["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"],
    ...[`Sec-WebSocket-Accept: ${acceptKey(key)}`, `Sec-WebSocket-Protocol: ${protocol}`],
  ];
  socket.write(`${answer.join("\r\n")}\r\n\r\n`);
  return { over: "webSocket", protocol, transport: openWebSocket(socketTransport(socket, head)) };
}

function acceptSpdy(
  { headers }: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  offered: readonly string[],
): Upgraded | undefined {
  const asked = [headers["x-stream-protocol-version"] ?? []].flat().join(",");
  const protocol = choose(asked, offered);
  if (protocol === undefined) {
    refuseUpgrade(socket, 403, noneInCommon(asked, offered));
    return undefined;
  }
  const answer = [
    ...["HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", "Upgrade: SPDY/3.1"],
    `X-Stream-Protocol-Version: ${protocol}`,
  ];
  socket.write(`${answer.join("\r\n")}\r\n\r\n`);
  return { over: "spdy", protocol, transport: socketTransport(socket, head) };
}

const namesIn = (header: string | undefined): readonly string[] =>
  (header ?? "").split(",").flatMap((name) => name.trim() || []);

function choose(header: string | undefined, offered: readonly string[]): string | undefined {
  const asked = namesIn(header);
  return offered.find((name) => asked.includes(name));
}

function noneInCommon(header: string | undefined, offered: readonly string[]): string {
  const asked = namesIn(header).join(" ");
  return `unable to upgrade: unable to negotiate protocol: client supports [${asked}], server accepts [${offered.join(" ")}]`;
}

export function refuseUpgrade(socket: Duplex, code: 400 | 403 | 404, message: string): void {
  const words = { 400: "Bad Request", 403: "Forbidden", 404: "Not Found" }[code];
  const body = Buffer.from(`${message}\n`);
  const head = ["content-type: text/plain; charset=utf-8", `content-length: ${body.length}`, "connection: close"];
  socket.on("error", () => {});
  socket.end(Buffer.concat([Buffer.from(`HTTP/1.1 ${code} ${words}\r\n${head.join("\r\n")}\r\n\r\n`), body]));
}
