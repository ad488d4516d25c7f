/** Bounds of a server, whole once: what a caller leaves out has a value that suits a control plane. */

export interface Limits {
  /** Of one message, on the wire and inflated. */
  readonly maxMessageBytes: number;
  readonly maxHeaderBytes: number;
  readonly maxHeaderPairs: number;
  readonly maxStreamsPerConnection: number;
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  readonly maxSessionMemoryMb: number;
  /** Streams that a client may reset: at once, and then each second. */
  readonly resetBurst: number;
  readonly resetsPerSecond: number;
  readonly pingsPerSecond: number;
  readonly keepaliveMs: number;
  readonly keepaliveTimeoutMs: number;
  readonly handshakeTimeoutMs: number;
  /** Without it, a connection may live for ever, as istiod's may. */
  readonly maxAgeMs: number | undefined;
  readonly maxAgeGraceMs: number;
}

export const defaultLimits: Limits = {
  maxMessageBytes: 4 * 1024 * 1024,
  maxHeaderBytes: 32 * 1024,
  maxHeaderPairs: 128,
  maxStreamsPerConnection: 1000,
  maxConnections: 20_000,
  maxConnectionsPerAddress: 5000,
  maxSessionMemoryMb: 32,
  resetBurst: 200,
  resetsPerSecond: 33,
  pingsPerSecond: 20,
  keepaliveMs: 30_000,
  keepaliveTimeoutMs: 10_000,
  handshakeTimeoutMs: 10_000,
  maxAgeMs: undefined,
  maxAgeGraceMs: 10_000,
};
