/** Connections by who they come from in; whether another one is admitted out. */
import type { X509Certificate } from "node:crypto";
import { isIPv4, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { isLoopback, parseIp } from "./ip.ts";

export interface Clients {
  /** False for one too many, and for a client that has to wait. */
  admit(socket: Socket): boolean;
  /** Ends this connection; who does it again and again is admitted no more for a while. */
  strike(socket: Socket): void;
}

/**
 * Behind one address there may be many, such as the Pods of a node: what they have is left alone, one mistake bars
 * nobody, and those who did nothing do not wait long.
 */
const maxStrikes = 3;
const rememberedMs = 600_000;
const barredMs = 60_000;
const maxRemembered = 10_000;

interface Strikes {
  readonly count: number;
  /** Until when it counts, and bars once there are too many. */
  readonly untilMs: number;
}

export function createClients(maxPerClient: number): Clients {
  const held = new Map<string, number>();
  const strikes = new Map<string, Strikes>();

  function strikesOf(client: string): number {
    const record = strikes.get(client);
    if (!record) return 0;
    if (performance.now() < record.untilMs) return record.count;
    strikes.delete(client);
    return 0;
  }

  return {
    admit(socket) {
      const client = clientOf(socket);
      if (client === undefined) return true;
      const others = held.get(client) ?? 0;
      if (others >= maxPerClient || strikesOf(client) >= maxStrikes) return false;
      held.set(client, others + 1);
      socket.once("close", () => {
        const left = (held.get(client) ?? 1) - 1;
        if (left === 0) held.delete(client);
        else held.set(client, left);
      });
      return true;
    },
    strike(socket) {
      // On the own machine everybody has one address.
      const client = isLoopback(socket.remoteAddress ?? "") ? undefined : clientOf(socket);
      socket.destroy();
      if (client === undefined) return;
      const [oldest] = strikes.keys();
      if (strikes.size >= maxRemembered && oldest !== undefined) strikes.delete(oldest);
      const count = strikesOf(client) + 1;
      strikes.delete(client);
      strikes.set(client, { count, untilMs: performance.now() + (count >= maxStrikes ? barredMs : rememberedMs) });
    },
  };
}

/** One address, or one network where addresses cost nothing; undefined on a unix socket. */
export function clientOf(socket: Socket): string | undefined {
  const text = (socket.remoteAddress ?? "").replace(/^::ffff:(?=\d+\.)/, "");
  if (isIPv4(text)) return text;
  const address = parseIp(text);
  return address && Buffer.from(address.subarray(0, 8)).toString("hex");
}

/** A leaf of RSA-4096 under three intermediates of the same has half of it. */
const maxChainBytes = 16 * 1024;
const maxChainLength = 10;

/**
 * Whether a client has shown more certificates than anybody needs. OpenSSL has looked at all of them by then, on our one
 * thread and without a bound that we could set: 100 KB of keys with 16,384 bits take it half a second.
 */
export function isChainTooLong(socket: TLSSocket): boolean {
  let size = 0;
  let length = 0;
  let certificate: X509Certificate | undefined = socket.getPeerX509Certificate();
  while (certificate) {
    size += certificate.raw.length;
    if (++length > maxChainLength || size > maxChainBytes) return true;
    const issuer: X509Certificate | undefined = certificate.issuerCertificate;
    certificate = issuer === certificate ? undefined : issuer;
  }
  return false;
}
