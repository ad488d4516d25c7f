/**
 * An API's address and one set of credentials in; requests over kept connections out. HTTP/2 where the server speaks it:
 * all requests and watches share one connection, and a ping that stays unanswered tells that the server has gone,
 * however silent its watches are. HTTP/1.1 where it does not.
 */
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2, constants } from "node:http2";
import { Agent, request as requestHttps } from "node:https";
import type { Readable } from "node:stream";
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls";
import { FairleadError, systemCode } from "../lib/index.ts";

export interface ConnectionTarget {
  readonly host: string;
  readonly port: number;
  readonly tls: ConnectionOptions;
  /** How often an HTTP/2 server is asked whether it is there, and how long it has to answer. */
  readonly pingMs?: number;
  readonly handshakeMs?: number;
}

export interface RequestHead {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
  readonly signal: AbortSignal | undefined;
  /** How long the head of the answer and each piece of its body may take. */
  readonly timeoutMs: number | undefined;
  /** The body may be silent for any time: a watch. */
  readonly endless: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Readable;
  /** Once the body has ended: whether the server ended it, or the stream was ended under it. HTTP/1.1 throws instead. */
  wasCut(): Promise<boolean>;
}

export interface Connection {
  /** False once it takes no further requests. */
  readonly usable: boolean;
  send(head: RequestHead): Promise<Answer>;
  /** Requests under way go on; no new ones are taken. */
  retire(): void;
  destroy(): void;
}

/** A request that the server surely has not looked at: it can be sent again whatever it does. */
export class NotSent extends Error {}

export async function openConnection(options: ConnectionTarget): Promise<Connection> {
  const socket = await openSocket(options);
  if (socket.alpnProtocol === "h2") return overHttp2(options, socket);
  socket.destroy();
  return overHttp1(options);
}

function openSocket({ host, port, tls, handshakeMs = 10_000 }: ConnectionTarget): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ ...tls, host, port, ALPNProtocols: ["h2", "http/1.1"] });
    const late = new FairleadError("timeout", `no TLS handshake within ${handshakeMs / 1000} s`);
    socket.setTimeout(handshakeMs, () => socket.destroy(late));
    socket.once("error", reject);
    socket.once("secureConnect", () => {
      socket.setTimeout(0);
      socket.off("error", reject);
      resolve(socket);
    });
  });
}

function overHttp2({ host, port, pingMs = 15_000 }: ConnectionTarget, socket: TLSSocket): Connection {
  const session = connectHttp2(`https://${host}:${port}`, { createConnection: () => socket });
  let usable = true;
  const end = (): void => {
    usable = false;
    clearInterval(timer);
  };
  const timer = setInterval(() => ping(session, pingMs), pingMs);
  timer.unref();
  // Errors reach the requests themselves; here they only end the connection's use.
  session.on("error", end);
  session.on("goaway", end);
  session.on("close", end);
  return {
    get usable() {
      return usable && !session.closed && !session.destroyed;
    },
    send: (head) => sendHttp2(session, head),
    retire() {
      end();
      session.close();
    },
    destroy() {
      end();
      session.destroy();
    },
  };
}

function ping(session: ClientHttp2Session, pingMs: number): void {
  if (session.destroyed) return;
  const late = setTimeout(() => {
    session.destroy(new FairleadError("timeout", `the API has not answered a ping for ${pingMs} ms`));
  }, pingMs);
  late.unref();
  try {
    session.ping(() => clearTimeout(late));
  } catch {
    clearTimeout(late);
  }
}

function sendHttp2(session: ClientHttp2Session, head: RequestHead): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let stream: ClientHttp2Stream;
    try {
      stream = session.request(
        { ...head.headers, ":method": head.method, ":path": head.path },
        { endStream: head.body === undefined, ...(head.signal ? { signal: head.signal } : {}) },
      );
    } catch (error) {
      reject(new NotSent("the connection takes no further requests", { cause: error }));
      return;
    }
    let answered = false;
    const closed = Promise.withResolvers<boolean>();
    stream.once("response", (headers) => {
      answered = true;
      if (head.endless) stream.setTimeout(0);
      resolve({
        status: headers[":status"] ?? 0,
        headers: headers as Answer["headers"],
        body: stream,
        wasCut: () => closed.promise,
      });
    });
    stream.on("error", (error) => reject(wasRefused(stream) ? new NotSent(error.message, { cause: error }) : error));
    stream.once("close", () => {
      closed.resolve(!stream.readableEnded || stream.rstCode !== constants.NGHTTP2_NO_ERROR);
      if (!answered) reject(closedEarly(stream, head));
    });
    if (head.timeoutMs !== undefined)
      stream.setTimeout(head.timeoutMs, () => stream.destroy(noAnswer(head, head.timeoutMs)));
    if (head.body !== undefined) stream.end(head.body);
  });
}

function wasRefused({ rstCode }: ClientHttp2Stream): boolean {
  return rstCode === constants.NGHTTP2_REFUSED_STREAM;
}

function closedEarly(stream: ClientHttp2Stream, { method, path, signal }: RequestHead): Error {
  if (signal?.aborted) return signal.reason as Error;
  if (wasRefused(stream)) return new NotSent("the server took no more requests");
  return new FairleadError("unavailable", `${method} ${path}: the connection ended before the answer`);
}

function noAnswer({ method, path }: RequestHead, ms: number | undefined): FairleadError {
  return new FairleadError("timeout", `${method} ${path}: no answer within ${ms} ms`);
}

function overHttp1({ host, port, tls }: ConnectionTarget): Connection {
  const agent = new Agent({ ...tls, keepAlive: true, keepAliveMsecs: 15_000 });
  let usable = true;
  return {
    get usable() {
      return usable;
    },
    send: (head) =>
      new Promise((resolve, reject) => {
        const { method, path, headers, signal } = head;
        const request = requestHttps(
          { host, port, method, path, headers, agent, ...(signal ? { signal } : {}) },
          (answer) => {
            if (head.endless) request.setTimeout(0);
            resolve({
              status: answer.statusCode ?? 0,
              headers: answer.headers,
              body: answer,
              wasCut: async () => false,
            });
          },
        );
        request.on("error", (error) => {
          const reused = request.reusedSocket && systemCode(error) === "ECONNRESET";
          // The server closed an idle connection just when it was used again.
          reject(reused && !request.writableFinished ? new NotSent(error.message, { cause: error }) : error);
        });
        if (head.timeoutMs !== undefined)
          request.setTimeout(head.timeoutMs, () => request.destroy(noAnswer(head, head.timeoutMs)));
        request.end(head.body);
      }),
    retire() {
      usable = false;
      // Idle sockets end; those of running requests end with them.
      agent.destroy();
    },
    destroy() {
      usable = false;
      agent.destroy();
    },
  };
}
