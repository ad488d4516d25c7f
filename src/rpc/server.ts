/** Routes in, a gRPC server on node:http2 out: plaintext, TLS or a unix socket, bounded, drained on shutdown. */
import { chmodSync, lstatSync, unlinkSync } from "node:fs";
import http2, {
  type Http2SecureServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { FairleadError, type Logger, systemCode } from "../lib/index.ts";
import { createCall, type WireCall } from "./call.ts";
import { defaultLimits, type Limits } from "./limits.ts";
import { type Peer, peerOf } from "./peer.ts";
import type { Route } from "./route.ts";
import { guardSession } from "./session-guard.ts";
import { RpcError, status, toRpcError } from "./status.ts";

export interface ServerTls {
  readonly cert: string;
  readonly key: string;
  /** Roots of client certificates. Where given, a certificate is asked for and verified, but none is demanded. */
  readonly clientCa?: string;
}

export interface RpcServerOptions {
  readonly routes: readonly Route[];
  readonly tls?: ServerTls;
  readonly limits?: Partial<Limits>;
  readonly log: Logger;
  readonly random?: () => number;
}

export type ListenAddress = { readonly host: string; readonly port: number } | { readonly path: string };

export interface RpcServer {
  /** Resolves with the bound address; a busy port is a FairleadError `port-in-use`. */
  listen(address: ListenAddress): Promise<{ readonly host: string; readonly port: number }>;
  /** New connections get the new certificate; those that live are untouched. */
  setTls(tls: ServerTls): void;
  /** Open connections and calls. */
  load(): { readonly connections: number; readonly calls: number };
  /** Stops accepting, tells clients to go (spread over the time), then closes what is left. */
  close(options?: { graceMs?: number }): Promise<void>;
}

export function createRpcServer(options: RpcServerOptions): RpcServer {
  const limits = { ...defaultLimits, ...options.limits };
  const random = options.random ?? Math.random;
  const routes = new Map(options.routes.map((route) => [route.path, route]));
  const sessions = new Map<ServerHttp2Session, Set<WireCall>>();
  const perAddress = new Map<string, number>();
  const server = createHttp2(options.tls, limits);
  server.maxConnections = limits.maxConnections;
  const peers = new WeakMap<ServerHttp2Session, Peer>();

  server.on("session", (session: ServerHttp2Session) => {
    session.on("error", (error) => options.log.debug("session ended", { cause: error.message }));
    const address = session.socket.remoteAddress ?? "unix";
    const count = (perAddress.get(address) ?? 0) + 1;
    perAddress.set(address, count);
    sessions.set(session, new Set());
    session.once("close", () => {
      sessions.delete(session);
      const left = (perAddress.get(address) ?? 1) - 1;
      if (left > 0) perAddress.set(address, left);
      else perAddress.delete(address);
    });
    if (address !== "unix" && count > limits.maxConnectionsPerAddress) {
      session.destroy(undefined, http2.constants.NGHTTP2_ENHANCE_YOUR_CALM);
      return;
    }
    peers.set(session, peerOf(session.socket));
    guardSession(session, {
      limits,
      random,
      onAged: () => retire(session, "maximum connection age", limits.maxAgeGraceMs),
    });
  });

  server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on("error", (error) => options.log.debug("stream ended", { cause: error.message }));
    const refusal = notGrpc(headers);
    if (refusal !== undefined) {
      stream.respond({ ":status": refusal }, { endStream: true });
      return;
    }
    const session = stream.session;
    const peer = session && peers.get(session as ServerHttp2Session);
    const calls = session && sessions.get(session as ServerHttp2Session);
    if (!session || !peer || !calls) return stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
    void serve(stream, headers, peer, calls);
  });

  async function serve(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    peer: Peer,
    calls: Set<WireCall>,
  ): Promise<void> {
    let call: WireCall | undefined;
    try {
      call = createCall(stream, headers, peer, limits);
      calls.add(call);
      const route = routes.get(call.path);
      if (!route) throw new RpcError(status.unimplemented, "unknown service or method");
      await route.serve(call);
      call.finish(status.ok);
    } catch (thrown) {
      const error = toRpcError(call?.signal.aborted ? call.signal.reason : thrown);
      if (error.status === status.internal)
        options.log.error("call failed", { path: call?.path, cause: String(thrown) });
      if (call) call.finish(error.status, error.message);
      else refuse(stream, error);
    } finally {
      if (call) {
        calls.delete(call);
        call.abort(new RpcError(status.cancelled, "the call has ended"));
      }
    }
  }

  function retire(session: ServerHttp2Session, why: string, graceMs: number): void {
    if (session.destroyed) return;
    session.goaway(http2.constants.NGHTTP2_NO_ERROR);
    session.close();
    const end = setTimeout(() => {
      for (const call of sessions.get(session) ?? []) {
        call.finish(status.unavailable, why);
        call.abort(new RpcError(status.unavailable, why));
      }
      const destroy = setTimeout(() => session.destroy(), 1000);
      session.once("close", () => clearTimeout(destroy));
    }, graceMs);
    session.once("close", () => clearTimeout(end));
  }

  return {
    listen: (address) => listen(server, address),
    setTls(tls) {
      if (!("setSecureContext" in server)) throw new FairleadError("internal", "the server was made without TLS");
      server.setSecureContext(secureContext(tls));
    },
    load: () => ({ connections: sessions.size, calls: sessions.values().reduce((sum, calls) => sum + calls.size, 0) }),
    async close({ graceMs = 0 } = {}) {
      const closed = [new Promise<void>((resolve) => server.close(() => resolve()))];
      for (const session of sessions.keys()) {
        closed.push(new Promise((resolve) => session.once("close", resolve)));
        retire(session, "the server is shutting down", graceMs * random());
      }
      await Promise.all(closed);
    },
  };
}

function createHttp2(tls: ServerTls | undefined, limits: Limits): Http2Server | Http2SecureServer {
  const common = {
    maxSessionMemory: limits.maxSessionMemoryMb,
    maxHeaderListPairs: limits.maxHeaderPairs,
    maxSettings: 32,
    maxOutstandingPings: 10,
    streamResetBurst: limits.resetBurst,
    streamResetRate: limits.resetsPerSecond,
    settings: {
      maxConcurrentStreams: limits.maxStreamsPerConnection,
      maxHeaderListSize: limits.maxHeaderBytes,
      initialWindowSize: 256 * 1024,
    },
  };
  if (!tls) return quiet(http2.createServer(common));
  return quiet(
    http2.createSecureServer({
      ...common,
      ...secureContext(tls),
      requestCert: tls.clientCa !== undefined,
      // Whether a certificate is enough is the handler's to say: a bearer token may stand in for it.
      rejectUnauthorized: false,
      handshakeTimeout: limits.handshakeTimeoutMs,
      unknownProtocolTimeout: limits.handshakeTimeoutMs,
    }),
  );
}

const secureContext = (tls: ServerTls) => ({
  cert: tls.cert,
  key: tls.key,
  minVersion: "TLSv1.2" as const,
  ...(tls.clientCa === undefined ? {} : { ca: tls.clientCa }),
});

/** Without a listener, an error of one peer would end the process (CVE-2025-59465). */
function quiet<S extends Http2Server | Http2SecureServer>(server: S): S {
  const ignore = (): void => {};
  server.on("sessionError", ignore);
  server.on("clientError", ignore);
  server.on("tlsClientError", ignore);
  server.on("connection", (socket) => socket.on("error", ignore));
  server.on("secureConnection", (socket) => socket.on("error", ignore));
  server.on("timeout", ignore);
  return server;
}

function notGrpc(headers: IncomingHttpHeaders): number | undefined {
  if (headers[":method"] !== "POST") return 405;
  return /^application\/grpc($|[+;])/.test(headers["content-type"] ?? "") ? undefined : 415;
}

function refuse(stream: ServerHttp2Stream, error: RpcError): void {
  if (stream.destroyed || stream.headersSent) return;
  stream.respond(
    {
      ":status": 200,
      "content-type": "application/grpc",
      "grpc-status": String(error.status),
      "grpc-message": error.message,
    },
    { endStream: true },
  );
  stream.close(http2.constants.NGHTTP2_NO_ERROR);
}

function listen(
  server: Http2Server | Http2SecureServer,
  address: ListenAddress,
): Promise<{ host: string; port: number }> {
  return new Promise((resolve, reject) => {
    const name = "path" in address ? address.path : `${address.host}:${address.port}`;
    server.once("error", (error) => {
      const busy = systemCode(error) === "EADDRINUSE";
      reject(
        new FairleadError(busy ? "port-in-use" : "unavailable", `cannot listen on ${name}: ${error.message}`, {
          cause: error,
          hint: "stop the other process or choose another address",
        }),
      );
    });
    server.once("listening", () => {
      server.removeAllListeners("error");
      server.on("error", () => {});
      if ("path" in address) chmodSync(address.path, 0o600);
      const bound = server.address();
      resolve(typeof bound === "object" && bound ? { host: bound.address, port: bound.port } : { host: name, port: 0 });
    });
    if ("path" in address) listenOnSocket(server, address.path);
    else server.listen(address.port, address.host);
  });
}

/** The socket file is made inside `listen`, so the mask keeps it private from its first moment. */
function listenOnSocket(server: Http2Server | Http2SecureServer, path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket()) unlinkSync(path);
  const mask = process.umask(0o177);
  try {
    server.listen(path);
  } finally {
    process.umask(mask);
  }
}
