/** HTTP/2 as node has it, with our bounds: TLS or plaintext. */
import http2, { type Http2SecureServer, type Http2Server } from "node:http2";
import { serverOptions } from "../lib/index.ts";
import type { Limits } from "./limits.ts";

export interface ServerTls {
  readonly cert: string;
  readonly key: string;
  /** Roots of client certificates. Where given, a certificate is asked for and verified, but none is demanded. */
  readonly clientCa?: string;
}

export type Transport = Http2Server | Http2SecureServer;

export function createTransport(tls: ServerTls | undefined, limits: Limits): Transport {
  const common = {
    ...serverOptions(limits),
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
  if (!tls) return http2.createServer(common);
  return http2.createSecureServer({
    ...common,
    ...secureContext(tls),
    requestCert: tls.clientCa !== undefined,
    // Whether a certificate is enough is the handler's to say: a bearer token may stand in for it.
    rejectUnauthorized: false,
  });
}

export const secureContext = (tls: ServerTls) => ({
  cert: tls.cert,
  key: tls.key,
  minVersion: "TLSv1.2" as const,
  ...(tls.clientCa === undefined ? {} : { ca: tls.clientCa }),
});
