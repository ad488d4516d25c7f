/**
 * A server of node in; its connections bounded, per client too, and let go when they are silent, half-open or stuck, out.
 * Every server of ours is made with `serverOptions` and watched over by `guardConnections`.
 */
import type { Server as HttpServer, IncomingMessage, ServerResponse } from "node:http";
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Server, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { watchBetweenRequests } from "./between-requests.ts";
import { createClients, isChainTooLong } from "./clients.ts";
import { systemCode } from "./error.ts";
import { createHeldConnections, type Peer } from "./held-connections.ts";
import type { Overload } from "./overload.ts";
import { guardSessions, type SessionLimits } from "./session-guard.ts";

export interface ConnectionLimits extends SessionLimits {
  readonly maxConnections: number;
  /** Of one address; IPv6 addresses of one /64 are one client. */
  readonly maxPerClient: number;
  /** For a request's headers, from the connection or the last answer's next byte on. */
  readonly headersMs: number;
  /** For a whole request with its body. */
  readonly requestMs: number;
  /** Without a byte of a body that is due, or of an answer that its client does not take. */
  readonly stallMs: number;
}

export const webLimits: ConnectionLimits = {
  maxConnections: 2000,
  maxPerClient: 500,
  handshakeMs: 10_000,
  headersMs: 10_000,
  requestMs: 60_000,
  stallMs: 30_000,
  // As kube-apiserver, and as Go's clients keep theirs.
  idleMs: 90_000,
  keepaliveMs: 30_000,
  keepaliveTimeoutMs: 10_000,
  pingsPerSecond: 20,
};

/** So many unused connections go at once where there is no room at all. */
const idleAtOnce = 16;

/** How often node looks for requests that take too long. */
const checkMs = 1000;

/** Options for http, https and http2 servers, which have these bounds of their own. */
export function serverOptions(limits: ConnectionLimits) {
  return {
    handshakeTimeout: limits.handshakeMs,
    unknownProtocolTimeout: limits.handshakeMs,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: Math.min(checkMs, limits.headersMs),
    maxHeaderSize: 64 * 1024,
  } as const;
}

export interface Connections {
  count(): number;
  /** Also those that never said anything, for which a closing server would wait. */
  destroyAll(): void;
  /** Whether this one was let in only to be told that there is no room for it. */
  isRefused(socket: Peer | undefined): boolean;
}

/** `overload` says when descriptors run out: then connections go that nobody uses, and no further ones are let in. */
export function guardConnections(server: Server, limits: ConnectionLimits, overload?: Overload): Connections {
  const held = createHeldConnections(server);
  const clients = createClients(limits.maxPerClient);
  server.maxConnections = limits.maxConnections;
  server.on("connection", (socket: Socket) => {
    socket.on("error", () => {});
    if (!clients.admit(socket) || !hasRoom(socket)) {
      socket.destroy();
      return;
    }
    held.add(socket);
    // Finds a peer that is gone without a word, whatever the protocol.
    socket.setKeepAlive(true, limits.keepaliveMs);
  });

  function hasRoom(socket: Socket): boolean {
    const room = overload?.descriptorsAfter(descriptorOf(socket)) ?? "enough";
    if (room === "enough") return true;
    if (held.closeIdle(room === "few" ? 1 : idleAtOnce) && room === "few") return true;
    overload?.refuse("connection", "descriptors");
    if (room === "none" || !held.canAnswer()) return false;
    held.markRefused(socket);
    return true;
  }

  // Without a listener, an error of one peer would end the process (CVE-2025-59465).
  server.on("sessionError", () => {});
  server.on("tlsClientError", (_error: Error, socket: Socket) => socket.destroy());
  server.on("clientError", refuse);
  server.on("secureConnection", (socket: TLSSocket) => {
    socket.on("error", () => {});
    if (isChainTooLong(socket)) clients.strike(socket);
  });
  server.on("session", guardSessions(limits));
  return { count: held.count, destroyAll: held.destroyAll, isRefused: held.isRefused };
}

/** Node shows it on the handle alone. */
function descriptorOf(socket: Socket): number {
  const { _handle: handle } = socket as { readonly _handle?: { readonly fd?: number } | null };
  return handle?.fd ?? 0;
}

const refusals: ReadonlyMap<string, string> = new Map([
  ["ERR_HTTP_REQUEST_TIMEOUT", "408 Request Timeout"],
  ["HPE_HEADER_OVERFLOW", "431 Request Header Fields Too Large"],
]);

/** With words where the client has come so far as to speak HTTP; a handshake that failed has no ear for them. */
function refuse(error: Error, socket: Socket): void {
  const code = systemCode(error) ?? "";
  const words = refusals.get(code) ?? (code.startsWith("HPE_") ? "400 Bad Request" : undefined);
  if (words === undefined || !socket.writable) {
    socket.destroy();
    return;
  }
  socket.end(`HTTP/1.1 ${words}\r\nconnection: close\r\n\r\n`);
  socket.destroySoon();
}

/**
 * For servers of requests and answers: a connection without progress is closed, unless it is an answer that has nothing
 * to say at the moment, such as a watch.
 */
export function guardRequests(server: Server, limits: ConnectionLimits): void {
  serveOneByOne(server);
  const answering = new WeakMap<object, number>();
  const latest = new WeakMap<object, IncomingMessage>();
  const between = watchBetweenRequests(limits.headersMs);
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const { socket, httpVersionMajor } = request;
    if (httpVersionMajor !== 1) return;
    latest.set(socket, request);
    between.goesOn(socket);
    answering.set(socket, (answering.get(socket) ?? 0) + 1);
    response.once("close", () => {
      const left = (answering.get(socket) ?? 1) - 1;
      answering.set(socket, left);
      if (left === 0) between.rests(socket);
    });
    response.once("finish", () => endBody(request));
  });
  // A listener would take such requests away from who serves none.
  if (server.listenerCount("upgrade") > 0)
    server.on("upgrade", (_request: IncomingMessage, socket: Socket) => between.goesOn(socket));
  (server as HttpServer).timeout = limits.stallMs;
  server.on("timeout", (socket: Socket | ServerHttp2Session) => {
    if (!("writableLength" in socket)) return;
    const isBodyDue = latest.get(socket)?.complete === false;
    if (isBodyDue || (answering.get(socket) ?? 0) === 0 || socket.writableLength > 0) socket.destroy();
  });
  server.on("stream", (stream: ServerHttp2Stream) => {
    const cancel = (): void => stream.close(constants.NGHTTP2_CANCEL);
    let isBodyDue = !stream.endAfterHeaders;
    // A window of nothing keeps an answer for ever, from who answers pings meanwhile.
    const watch = (): unknown =>
      stream.setTimeout(limits.stallMs, () => (isBodyDue || stream.writableLength > 0 ? cancel() : watch()));
    watch();
    if (!isBodyDue) return;
    // Node bounds the whole of a request in HTTP/1 alone.
    const whole = setTimeout(cancel, limits.requestMs).unref();
    stream.once("end", () => {
      isBodyDue = false;
      clearTimeout(whole);
    });
    stream.once("close", () => clearTimeout(whole));
  });
}

/** Requests of a connection that may wait for the one before. */
const maxPipelined = 100;

/**
 * Node hands over all requests that came in one piece at once, thousands of them: of a connection, the next one is served
 * when the last was answered, and in a turn of its own. Stands before everybody who listens by now.
 */
function serveOneByOne(server: Server): void {
  const listeners = server.listeners("request") as ((request: IncomingMessage, response: ServerResponse) => void)[];
  server.removeAllListeners("request");
  const waiting = new WeakMap<object, (() => void)[]>();
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    for (const listener of listeners) listener.call(server, request, response);
  };
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    if (request.httpVersionMajor !== 1) return serve(request, response);
    if (socket.destroyed) return;
    const others = waiting.get(socket);
    const begin = (): void => {
      response.once("close", () => {
        const next = waiting.get(socket)?.shift();
        if (next) setImmediate(next);
        else waiting.delete(socket);
      });
      if (!socket.destroyed) serve(request, response);
    };
    if (!others) {
      waiting.set(socket, []);
      begin();
    } else if (others.push(begin) > maxPipelined) socket.destroy();
  });
}

/** How long a body may go on that was answered before its end: long enough to read the answer. */
const lingerMs = 5000;

function endBody(request: IncomingMessage): void {
  if (request.complete) return;
  const timer = setTimeout(() => request.complete || request.socket.destroy(), lingerMs).unref();
  request.once("close", () => clearTimeout(timer));
}
