/** HTTP/2 as node has it, with our bounds: TLS or plaintext, on a port or on a private unix socket. */
import { chmodSync, lstatSync, unlinkSync } from "node:fs";
import http2, { type Http2SecureServer, type Http2Server } from "node:http2";
import { FairleadError, systemCode } from "../lib/index.ts";
import type { Limits } from "./limits.ts";

export interface ServerTls {
  readonly cert: string;
  readonly key: string;
  /** Roots of client certificates. Where given, a certificate is asked for and verified, but none is demanded. */
  readonly clientCa?: string;
}

export type ListenAddress = { readonly host: string; readonly port: number } | { readonly path: string };

export type Transport = Http2Server | Http2SecureServer;

export function createTransport(tls: ServerTls | undefined, limits: Limits): Transport {
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
  if (!tls) return bounded(quiet(http2.createServer(common)), limits);
  return bounded(
    quiet(
      http2.createSecureServer({
        ...common,
        ...secureContext(tls),
        requestCert: tls.clientCa !== undefined,
        // Whether a certificate is enough is the handler's to say: a bearer token may stand in for it.
        rejectUnauthorized: false,
        handshakeTimeout: limits.handshakeTimeoutMs,
        unknownProtocolTimeout: limits.handshakeTimeoutMs,
      }),
    ),
    limits,
  );
}

/** Beyond it new connections are closed at once, also those that have not shown who they are. */
function bounded<S extends Transport>(server: S, limits: Limits): S {
  server.maxConnections = limits.maxConnections;
  return server;
}

export const secureContext = (tls: ServerTls) => ({
  cert: tls.cert,
  key: tls.key,
  minVersion: "TLSv1.2" as const,
  ...(tls.clientCa === undefined ? {} : { ca: tls.clientCa }),
});

/** Without a listener, an error of one peer would end the process (CVE-2025-59465). */
function quiet<S extends Transport>(server: S): S {
  const ignore = (): void => {};
  server.on("sessionError", ignore);
  server.on("clientError", ignore);
  server.on("tlsClientError", ignore);
  server.on("connection", (socket) => socket.on("error", ignore));
  server.on("secureConnection", (socket) => socket.on("error", ignore));
  server.on("timeout", ignore);
  return server;
}

export function listen(server: Transport, address: ListenAddress): Promise<{ host: string; port: number }> {
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
function listenOnSocket(server: Transport, path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket()) unlinkSync(path);
  const mask = process.umask(0o177);
  try {
    server.listen(path);
  } finally {
    process.umask(mask);
  }
}
