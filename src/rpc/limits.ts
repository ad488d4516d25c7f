/** Bounds of a server, whole once: what a caller leaves out has a value that suits a control plane. */
import type { ConnectionLimits } from "../lib/index.ts";

export interface Limits extends ConnectionLimits {
  /** Of one message, on the wire and inflated. */
  readonly maxMessageBytes: number;
  /** Of all messages together that have come in part. */
  readonly maxInflowBytes: number;
  readonly maxHeaderBytes: number;
  readonly maxHeaderPairs: number;
  readonly maxStreamsPerConnection: number;
  readonly maxSessionMemoryMb: number;
  /** Streams that a client may reset: at once, and then each second. */
  readonly resetBurst: number;
  readonly resetsPerSecond: number;
  /** Without it, a connection may live for ever, as istiod's may. */
  readonly maxAgeMs: number | undefined;
  readonly maxAgeGraceMs: number;
}

export const defaultLimits: Limits = {
  maxMessageBytes: 4 * 1024 * 1024,
  // First requests of two thousand Envoys that come back at once, of which each names a thousand resources.
  maxInflowBytes: 256 * 1024 * 1024,
  maxHeaderBytes: 32 * 1024,
  maxHeaderPairs: 128,
  maxStreamsPerConnection: 1000,
  maxConnections: 20_000,
  // Many proxies may come from behind one address.
  maxPerClient: 5000,
  maxSessionMemoryMb: 32,
  resetBurst: 200,
  resetsPerSecond: 33,
  pingsPerSecond: 20,
  keepaliveMs: 30_000,
  keepaliveTimeoutMs: 10_000,
  handshakeMs: 10_000,
  headersMs: 10_000,
  requestMs: 60_000,
  stallMs: 30_000,
  idleMs: 300_000,
  maxAgeMs: undefined,
  maxAgeGraceMs: 10_000,
};
